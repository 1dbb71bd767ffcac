"""The kinds of attention that are compared, and their members in an ensemble."""

from collections.abc import Iterable
from dataclasses import dataclass

from boltzmann_study.contrast import CONTRASTS
from boltzmann_study.samplers import EXACT, Setting, setting
from isingsample._core import checks as check

# Couplings that are not learned: a chain of this strength, or a spin glass (Sherrington &
# Kirkpatrick) whose pairs have this standard deviation times 1/sqrt(T).
CHAIN, GLASS = 0.3, 0.5


@dataclass(frozen=True)
class Mode:
    """A kind of attention.

    Attributes:
        name: on the command line and in results.
        summary: one line.
        closed: "softmax" or "h" where weights have a closed form, "" where they are sampled.
        scores: whether query-key scores are fields.
        couplings: J is "none", "learned" (from 0), "chain" or "random" (both frozen).
        three_body: whether a three-body K is learned, from 0.
        bias: whether each key position has a learned field (softmax: a learned score), from 0.
        self_up: whether the spin of the asking position is held at +1.
    """

    name: str
    summary: str
    closed: str = ""
    scores: bool = True
    couplings: str = "none"
    three_body: bool = False
    bias: bool = False
    self_up: bool = False


_ALL = (
    Mode("softmax", "softmax attention, the reference", closed="softmax"),
    Mode("softmax+bias", "control: a learned score per position", closed="softmax", bias=True),
    Mode("h", "fields alone: a normalised sigmoid", closed="h"),
    Mode("h+bias", "control: a learned field per position, no couplings", closed="h", bias=True),
    Mode("h+J", "fields and learned couplings", couplings="learned"),
    Mode("h+J+bias", "control: both", couplings="learned", bias=True),
    Mode("h+chain", f"J frozen: {CHAIN} between neighbours, 0 elsewhere", couplings="chain"),
    Mode("h+random", f"J frozen: Gaussian, std {GLASS}/sqrt(T)", couplings="random"),
    Mode("h+K", "fields and learned three-body couplings", three_body=True),
    Mode("h+J+K", "fields, pairs and triples", couplings="learned", three_body=True),
    Mode(
        "J", "couplings alone: by symmetry all weights are equal", scores=False, couplings="learned"
    ),
    Mode(
        "J+self",
        "couplings alone, the asking position's own spin held up",
        scores=False,
        couplings="learned",
        self_up=True,
    ),
)
MODES = {mode.name: mode for mode in _ALL}
REFERENCE, CONTROL = "softmax", "h+bias"


_OPENING = " ["  # between the names of mode and sampler


@dataclass(frozen=True)
class Arm:
    """One line of the comparison: a mode, and the sampler inside it.

    Attributes:
        name: the mode's, with the sampler's in brackets where it is not exact.
        mode: the kind of attention.
        sampler: of sampled modes; "exact" for the others, which need none.
    """

    name: str
    mode: Mode
    sampler: Setting

    @property
    def kind(self) -> tuple[str, str, bool]:
        """Arms of one kind go through the attention together."""
        return self.mode.closed, self.sampler.name, self.mode.three_body


def mode_name(arm: str) -> str:
    """The name of an arm's mode, which is also that of the arm with the exact sampler."""
    return arm.partition(_OPENING)[0]


def in_order(names: Iterable[str]) -> list[str]:
    """Names of arms in the order of MODES, the exact sampler first."""
    order = list(MODES)
    return sorted(set(names), key=lambda arm: (order.index(mode_name(arm)), len(arm), arm))


def arms(modes: Iterable[str], samplers: Iterable[str], reads: int) -> tuple[Arm, ...]:
    """Each mode with each sampler; modes with a closed form once. Arms of one kind are neighbours.

    Args:
        modes: names in MODES; "all" for all of them.
        samplers: names of settings in `boltzmann_study.samplers`.
        reads: samples of each problem, for samplers that draw them.

    Raises:
        ValueError: an unknown name, or none.
    """
    names = list(dict.fromkeys(modes))
    names = list(MODES) if names == ["all"] else names
    settings = [setting(name, reads) for name in dict.fromkeys(samplers)]
    if not names or not settings:
        raise ValueError("name at least one mode and one sampler")
    exact = setting(EXACT, reads)
    built = []
    for name in names:
        mode = MODES[check.check_choice("mode", name, MODES)]
        for each in [exact] if mode.closed else settings:
            if mode.three_body and each.gradient in CONTRASTS:
                raise ValueError(
                    f"{each.name!r} does not learn the three-body couplings of {name!r}"
                )
            label = name if each.name == EXACT else f"{name}{_OPENING}{each.name}]"
            built.append(Arm(label, mode, each))
    return tuple(sorted(built, key=lambda arm: arm.kind))
