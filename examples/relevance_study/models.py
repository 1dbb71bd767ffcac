"""Models that weigh keys by their evidence, several seeds of each at once.

All but the mixing ones score a key by its own evidence, with the same small network:

softmax, softmax+bias    weights exp(score); with a learned score for each position
h, h+bias                weights sigmoid(2 h), divided by their sum; with a learned field
h+J, h+J+bias            P(s = +1) of an Ising model with these fields and learned couplings
h+J+K                    the same with three-body couplings
conv                     softmax over scores of five neighbouring keys, two layers
mixed1, mixed2           softmax over scores of keys that one or two transformer layers have mixed
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from isingsample import Exact, IsingProblem

_WIDTH = 16  # of the network that scores one key
_MIXED, _HEADS = 32, 4  # width and heads of the transformer layers
_FEWEST = 1e-3  # sums of weights below this do not divide


class Scored(nn.Module):
    """Weights from each key's own evidence: (seeds, batch, T) in and out.

    Args:
        mode: one of those above without mixing.
        seeds: how many members, each with its own initial numbers.
        length: T.
    """

    def __init__(self, mode: str, seeds: int, length: int) -> None:
        super().__init__()
        self.mode = mode
        first, second, bias = [], [], []
        for seed in range(seeds):
            own = torch.Generator().manual_seed(seed)
            first.append(torch.randn(1, _WIDTH, generator=own))
            bias.append(torch.randn(1, _WIDTH, generator=own))
            second.append(torch.randn(_WIDTH, 1, generator=own) / math.sqrt(_WIDTH))
        self.first, self.offset, self.second = (
            nn.Parameter(torch.stack(values)) for values in (first, bias, second)
        )
        self.level = nn.Parameter(torch.zeros(seeds, 1, 1))
        self.bias = nn.Parameter(torch.zeros(seeds, 1, length)) if "bias" in mode else None
        self.J = nn.Parameter(torch.zeros(seeds, length, length)) if "J" in mode else None
        cube = torch.zeros(seeds, length, length, length)
        self.K = nn.Parameter(cube) if "K" in mode else None

    def forward(self, evidence: Tensor) -> Tensor:
        """Weights of each key."""
        hidden = nn.functional.gelu(
            evidence[..., None] * self.first[:, None] + self.offset[:, None]
        )
        scores = (hidden @ self.second[:, None])[..., 0] + self.level
        if self.bias is not None:
            scores = scores + self.bias
        if self.mode.startswith("softmax"):
            return torch.softmax(scores, -1)
        if self.J is None:
            up = torch.sigmoid(2 * scores)
        else:
            K = None if self.K is None else symmetric_triples(self.K)[:, None]
            problem = IsingProblem(scores, self.couplings()[:, None], K)
            up = Exact().sample(problem).probability
        return up / up.sum(-1, keepdim=True).clamp(min=_FEWEST)

    def couplings(self) -> Tensor:
        """The learned J, symmetric and with a zero diagonal: (seeds, T, T)."""
        assert self.J is not None
        J = 0.5 * (self.J + self.J.mT)
        return J - torch.diag_embed(torch.diagonal(J, dim1=-2, dim2=-1))


class Convolved(nn.Module):
    """Softmax over scores of windows of five keys; the seeds are groups of one convolution."""

    def __init__(self, seeds: int, length: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Conv1d(seeds, seeds * _MIXED, 5, padding=2, groups=seeds)
        self.second = nn.Conv1d(seeds * _MIXED, seeds, 5, padding=2, groups=seeds)
        self.bias = nn.Parameter(torch.zeros(seeds, 1, length))

    def forward(self, evidence: Tensor) -> Tensor:
        """Weights of each key."""
        seeds = evidence.transpose(0, 1)  # (batch, seeds, T)
        scores = self.second(nn.functional.gelu(self.first(seeds))).transpose(0, 1)
        return torch.softmax(scores + self.bias, -1)


class _Member(nn.Module):
    """One seed of `Mixed`: keys embedded, mixed and scored."""

    def __init__(self, layers: int, length: int) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            _MIXED, _HEADS, 2 * _MIXED, dropout=0.0, activation="gelu", batch_first=True
        )
        self.embed = nn.Linear(1, _MIXED)
        self.place = nn.Parameter(0.3 * torch.randn(length, _MIXED))
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.score = nn.Linear(_MIXED, 1)

    def forward(self, evidence: Tensor) -> Tensor:
        """Weights (batch, T) from evidence of that shape."""
        keys = self.layers(self.embed(evidence[..., None]) + self.place)
        return torch.softmax(self.score(keys)[..., 0], -1)


class Mixed(nn.Module):
    """Softmax over scores of keys that transformer layers have mixed."""

    def __init__(self, layers: int, seeds: int, length: int) -> None:
        super().__init__()
        members = []
        for seed in range(seeds):
            torch.manual_seed(seed)
            members.append(_Member(layers, length))
        self.members = nn.ModuleList(members)

    def forward(self, evidence: Tensor) -> Tensor:
        """Weights of each key."""
        pairs = zip(self.members, evidence, strict=True)
        return torch.stack([member(own) for member, own in pairs])


def symmetric_triples(K: Tensor) -> Tensor:
    """(..., T, T, T) averaged over the orders of each triple, zero where an index repeats."""
    orders = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    lead = tuple(range(K.ndim - 3))
    total = sum(K.permute(*lead, *(len(lead) + axis for axis in order)) for order in orders)
    index = torch.arange(K.shape[-1])
    i, j, k = index[:, None, None], index[:, None], index
    return torch.where((i != j) & (j != k) & (i != k), total / 6, 0.0)


def _scored(mode: str) -> Callable[[int, int], nn.Module]:
    return lambda seeds, length: Scored(mode, seeds, length)


# By name: from the number of seeds and keys; and the largest learning rate that suits it.
MODELS: dict[str, tuple[Callable[[int, int], nn.Module], float]] = {
    **{
        mode: (_scored(mode), 2e-2)
        for mode in ("softmax", "softmax+bias", "h", "h+bias", "h+J", "h+J+bias", "h+J+K")
    },
    "conv": (Convolved, 1e-2),
    "mixed1": (lambda seeds, length: Mixed(1, seeds, length), 3e-3),
    "mixed2": (lambda seeds, length: Mixed(2, seeds, length), 3e-3),
}


def parameters_each(model: nn.Module, seeds: int) -> int:
    """Learned numbers of one member; of couplings, only the pairs and triples that count."""
    total = 0
    for name, values in model.named_parameters():
        own = values.numel() // seeds
        length = values.shape[-1]
        if name == "J":
            own = math.comb(length, 2)
        elif name == "K":
            own = math.comb(length, 3)
        total += own
    return total
