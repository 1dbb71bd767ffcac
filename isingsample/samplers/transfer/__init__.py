"""Exact moments of banded couplings, window by window.

band.py         couplings as bands
windows.py      passes over the windows, forward and back
sampler.py      the sampler
"""
