"""The attention weights of an ensemble: arms of one kind at a time, each with its own couplings."""

from dataclasses import dataclass
from itertools import groupby

import torch
from torch import Tensor

from attention_bridge import boltzmann_attention, symmetrised
from boltzmann_study.contrast import CONTRASTS, contrast_weights
from boltzmann_study.modes import CHAIN, GLASS, Arm
from boltzmann_study.task import INITIAL, generator

_HELD_UP = 30.0  # a field that leaves a spin at -1 with probability exp(-60)


@dataclass(frozen=True, eq=False)
class Couplings:
    """What attention learns besides its scores, for each member of an ensemble.

    Attributes:
        J: (members, T, T), used as its symmetric part without the diagonal.
        K: (members, T, T, T), used as the mean over the orders of each triple.
        bias: (members, T).
    """

    J: Tensor
    K: Tensor
    bias: Tensor


def initial_couplings(arms: tuple[Arm, ...], seeds: int, length: int) -> dict[str, Tensor]:
    """J, K and bias of members (arms, seeds): 0 where they are learned, the frozen J elsewhere."""
    J = torch.zeros(len(arms), seeds, length, length)
    chain = torch.diag(torch.full((length - 1,), CHAIN), 1)
    for number, arm in enumerate(arms):
        if arm.mode.couplings == "chain":
            J[number] = chain + chain.T
        elif arm.mode.couplings == "random":
            for seed in range(seeds):
                drawn = generator(INITIAL, seed, length).normal(size=(length, length))
                upper = torch.from_numpy(drawn).float().triu(1) * (GLASS / length**0.5)
                J[number, seed] = upper + upper.T
    members = len(arms) * seeds
    return {
        "J": J.flatten(0, 1),
        "K": torch.zeros(members, length, length, length),
        "bias": torch.zeros(members, length),
    }


class EnsembleAttention:
    """Attention weights of all members, from their scores.

    Members of an arm are neighbours, and arms of one kind (closed form, sampler, three-body or
    not) are called together: their problems differ in h from question to question, and in J and
    K from member to member.

    Args:
        arms: neighbours by kind, as `boltzmann_study.modes.arms` sorts them.
        seeds: members of each arm.
        normalize: divide the weights of each question by their sum.
    """

    def __init__(self, arms: tuple[Arm, ...], seeds: int, *, normalize: bool) -> None:
        self._normalize = normalize
        self._groups: list[tuple[tuple[Arm, ...], slice]] = []
        start = 0
        for _, alike in groupby(arms, key=lambda arm: arm.kind):
            group = tuple(alike)
            self._groups.append((group, slice(start, start + len(group) * seeds)))
            start += len(group) * seeds
        self._seeds = seeds

    def __call__(
        self,
        scores: Tensor,
        asked: Tensor,
        couplings: Couplings,
        present: Tensor | None,
        patterns: Tensor,
        generator: torch.Generator,
    ) -> Tensor:
        """Weights (members, questions, T).

        Args:
            scores: (members, questions, T).
            asked: (members, questions) the asking positions.
            couplings: of all members.
            present: (members, questions, T) keys that are not removed; None for all.
            patterns: (members, questions, T) spins that answers suggest, for arms that learn J
                by matching them; weights do not depend on them.
            generator: draws the samplers' seeds.
        """
        parts = []
        for arms, rows in self._groups:
            h = self._where(arms, [arm.mode.scores for arm in arms], scores[rows])
            biased = [arm.mode.bias for arm in arms]
            if any(biased):
                h = h + self._where(arms, biased, couplings.bias[rows, None, :])
            held = [arm.mode.self_up for arm in arms]
            if any(held):
                own = torch.nn.functional.one_hot(asked[rows], h.shape[-1])
                h = h + self._where(arms, held, _HELD_UP * own.to(h.dtype))
            J = K = None
            if not arms[0].mode.closed:
                learned = self._flags([arm.mode.couplings == "learned" for arm in arms], h)
                all_J = couplings.J[rows]
                J = torch.where(learned, all_J, all_J.detach())
                J = self._where(arms, [arm.mode.couplings != "none" for arm in arms], J)[:, None]
                K = couplings.K[rows, None] if arms[0].mode.three_body else None
            kept = None if present is None else present[rows]
            if arms[0].sampler.gradient in CONTRASTS:
                assert J is not None
                up = contrast_weights(
                    h,
                    symmetrised(J[:, 0]),
                    kept,
                    patterns[rows],
                    sampler=arms[0].sampler.sampler,
                    kind=arms[0].sampler.gradient,
                    seed=int(torch.randint(2**63 - 1, (), generator=generator)),
                )
                total = up.sum(-1, keepdim=True) if self._normalize else torch.ones(())
                parts.append(up / total)
                continue
            unit = torch.eye(h.shape[-1], dtype=h.dtype)
            # Fields as queries, unit vectors as keys and values: the output is the weights.
            weights = boltzmann_attention(
                h[:, :, None, :],
                unit,
                unit,
                coupling=J,
                three_body=K,
                attn_mask=None if kept is None else kept[:, :, None, :],
                scale=1.0,
                mode=arms[0].mode.closed or "h+J",
                normalize=self._normalize,
                sampler=arms[0].sampler.sampler,
                gradient=arms[0].sampler.gradient,
                generator=generator,
            )
            assert isinstance(weights, Tensor)
            parts.append(weights[:, :, 0, :])
        return torch.cat(parts)

    def _where(self, arms: tuple[Arm, ...], on: list[bool], values: Tensor) -> Tensor:
        """values for the members of arms that are on, 0 for others."""
        return values if all(on) else values * self._flags(on, values)

    def _flags(self, on: list[bool], like: Tensor) -> Tensor:
        """(members, 1, 1): one flag for each arm, repeated for its seeds."""
        return torch.tensor(on).repeat_interleave(self._seeds)[:, None, None]
