"""Truth to test samplers against.

enumeration    moments by a plain sum over all states
"""

from isingsample.testing.enumeration import Moments, enumerate_moments

__all__ = ["Moments", "enumerate_moments"]
