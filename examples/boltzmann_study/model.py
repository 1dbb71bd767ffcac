"""Many single-layer, single-head decoders as one: each parameter has a leading axis of members.

A layer by itself sees only which token stands at which position. So all that comes before the
attention is worked out once for each (token, position) pair, the scores for each two of them, and
looked up. Keys and values need no tables: W_k is applied to the queries, of which there are fewer,
and W_v to the weighted means. This is the same function as that of an ordinary decoder, at a
fraction of the cost.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from attention_bridge import symmetrised
from boltzmann_study.attention import Couplings, EnsembleAttention, initial_couplings
from boltzmann_study.modes import Arm
from boltzmann_study.task import INITIAL, Questions, Task, generator

WIDTH, HIDDEN = 64, 128
_POSITION_STD = 0.1


class Ensemble(nn.Module):
    """Decoders (arms, seeds), trained side by side without touching each other.

    With E the embeddings, x = E[token] + E[position], and LN a layer norm, a question asked at
    position i gets

        y = x_i + W_o sum_j weight_ij W_v LN(x_j),   y = y + FFN(LN(y)),   logits = W LN(y) + b,

    its scores being (W_q LN(x_i)).(W_k LN(x_j)) / sqrt(d), d = 64, and the FFN having 128 hidden
    units (GELU). Members with one seed have the same initial weights in every arm; the reference
    of all comparisons.

    Args:
        task: what is learned.
        arms: kinds of attention, neighbours by kind.
        seeds: members of each arm: seeds 0, 1, ...
        ffn: whether there is a feed-forward network.
        normalize: divide the weights of each question by their sum.
    """

    def __init__(
        self, task: Task, arms: tuple[Arm, ...], seeds: int, *, ffn: bool, normalize: bool
    ) -> None:
        super().__init__()
        self.arms, self.seeds, self.ffn = arms, seeds, ffn
        self.members = len(arms) * seeds
        self._task = task
        self._attention = EnsembleAttention(arms, seeds, normalize=normalize)
        drawn = [_initial(task, seed, ffn) for seed in range(seeds)]
        self.weights = nn.ParameterDict(
            {
                name: torch.stack([one[name] for one in drawn]).repeat(
                    len(arms), *[1] * drawn[0][name].ndim
                )
                for name in drawn[0]
            }
        )
        self.couplings = nn.ParameterDict(initial_couplings(arms, seeds, task.length))
        row_of = torch.zeros(task.length * task.num_tokens, dtype=torch.long)
        row_of[task.asking] = torch.arange(len(task.asking))
        self._row_of = row_of  # which row of the query table a (token, position) pair has

    def forward(self, questions: Questions, sampling: torch.Generator) -> Tensor:
        """Logits (members, questions, outputs).

        Args:
            questions: with a leading axis of seeds (or of 1: the same for all), tokens
                (seeds, questions, T).
            sampling: draws the samplers' seeds.
        """
        tokens, asked = (self._for_members(t) for t in (questions.tokens, questions.asked))
        w, length, kinds = self.weights, self._task.length, self._task.num_tokens
        pairs = length * kinds
        pair = tokens + kinds * torch.arange(length)  # (members, questions, T)
        asking = pair.gather(-1, asked[..., None])[..., 0]  # (members, questions)

        table = (w["position"][:, :, None] + w["token"][:, None]).flatten(1, 2)
        normed = self._norm("before_attention", table)  # (members, pairs, width)
        queries = normed[:, self._task.asking] @ w["query"] @ w["key"].mT
        scores = queries @ normed.mT / math.sqrt(WIDTH)  # (members, asking, pairs)
        at = self._row_of[asking][..., None] * pairs + pair
        own = scores.flatten(1).gather(1, at.flatten(1)).view_as(at)
        present = torch.arange(length) <= asked[..., None] if self._task.causal else None
        couplings = Couplings(*(self.couplings[name] for name in ("J", "K", "bias")))
        patterns = self._for_members(self._task.patterns(questions))
        weights = self._attention(own, asked, couplings, present, patterns, sampling)

        first = pairs * torch.arange(self.members)[:, None]  # of a member, in a joint table
        attended = F.embedding_bag(
            (pair + first[..., None]).flatten(0, 1),
            normed.flatten(0, 1),
            mode="sum",
            per_sample_weights=weights.flatten(0, 1),
        ).view(self.members, -1, WIDTH)
        y = F.embedding(asking + first, table.flatten(0, 1)) + attended @ w["value"] @ w["output"]
        if self.ffn:
            hidden = F.gelu(self._norm("before_ffn", y) @ w["up"] + w["up_bias"][:, None])
            y = y + hidden @ w["down"] + w["down_bias"][:, None]
        logits: Tensor = self._norm("before_logits", y) @ w["logits"] + w["logits_bias"][:, None]
        return logits

    def losses(self, questions: Questions, sampling: torch.Generator) -> tuple[Tensor, Tensor]:
        """Cross-entropy in nats, and whether the likeliest answer is right.

        Returns:
            Both (members, questions).
        """
        logits = self(questions, sampling)
        answer = self._for_members(questions.answer)
        losses = F.cross_entropy(logits.flatten(0, 1), answer.flatten(), reduction="none")
        return losses.view_as(answer), logits.argmax(-1) == answer

    def coupling_matrices(self) -> Tensor:
        """J as the samplers see it: (arms, seeds, T, T)."""
        J = self.couplings["J"].detach()
        return symmetrised(J).view(len(self.arms), self.seeds, *J.shape[1:])

    def _for_members(self, values: Tensor) -> Tensor:
        """Values of seeds (seeds or 1, ...) as those of members: (members, ...)."""
        shape = (len(self.arms), self.seeds, *values.shape[1:])
        return values.expand(shape).flatten(0, 1)

    def _norm(self, name: str, x: Tensor) -> Tensor:
        gain, shift = self.weights[f"{name}_gain"], self.weights[f"{name}_shift"]
        normed: Tensor = F.layer_norm(x, (WIDTH,)) * gain[:, None] + shift[:, None]
        return normed


def _initial(task: Task, seed: int, ffn: bool) -> dict[str, Tensor]:
    """Initial weights of one decoder: torch's own defaults for embeddings and linear maps."""
    rng = generator(INITIAL, seed)

    def normal(*shape: int) -> Tensor:
        return torch.from_numpy(rng.normal(size=shape)).float()

    def linear(inputs: int, *shape: int) -> Tensor:
        bound = 1 / math.sqrt(inputs)
        return torch.from_numpy(rng.uniform(-bound, bound, size=shape)).float()

    weights = {"token": normal(task.num_tokens, WIDTH)}
    weights |= {name: linear(WIDTH, WIDTH, WIDTH) for name in ("query", "key", "value", "output")}
    weights["logits"] = linear(WIDTH, WIDTH, task.num_outputs)
    weights["logits_bias"] = linear(WIDTH, task.num_outputs)
    weights["position"] = _POSITION_STD * normal(task.length, WIDTH)
    norms = ["before_attention", "before_logits"]
    if ffn:
        norms.append("before_ffn")
        weights |= {"up": linear(WIDTH, WIDTH, HIDDEN), "up_bias": linear(WIDTH, HIDDEN)}
        weights |= {"down": linear(HIDDEN, HIDDEN, WIDTH), "down_bias": linear(HIDDEN, WIDTH)}
    for name in norms:
        weights |= {f"{name}_gain": torch.ones(WIDTH), f"{name}_shift": torch.zeros(WIDTH)}
    return weights
