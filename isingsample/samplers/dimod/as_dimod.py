"""The door to `adapter`, which imports dimod."""

from typing import TYPE_CHECKING

from isingsample._core.extras import import_dimod
from isingsample.samplers.base import Sampler

if TYPE_CHECKING:
    import dimod


def as_dimod(sampler: Sampler) -> "dimod.Sampler":
    """Any sampler of this package as a dimod Sampler.

    Its `sample(bqm, num_reads=None, beta=1.0, seed=None)` takes beta in dimod's sense,
    P ~ exp(-beta E) with the BQM's own energies.

    Raises:
        TypeError: the sampler draws no samples.
        MissingExtraError: dimod is not installed.
    """
    import_dimod("as_dimod()")
    from isingsample.samplers.dimod.adapter import DimodAdapter

    return DimodAdapter(sampler)
