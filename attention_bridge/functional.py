r"""Attention whose weights are the spin probabilities of a Boltzmann machine.

Each query i is an Ising problem over the keys, with fields from its scores and couplings J that
queries share,

.. math::

    h_{ij} = q_i \cdot k_j / \sqrt{d}, \qquad
    \alpha_{ij} = P(s_j = +1) = \tfrac12 (\langle s_j \rangle_i + 1), \qquad
    o_i = \sum_j \alpha_{ij} v_j \Big/ \sum_j \alpha_{ij}

(Kim & Park 2026, arXiv 2606.12478). J > 0 lets keys draw each other in, J < 0 makes them compete;
without J the weights are a normalised sigmoid(2 beta h).
"""

import functools
import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_bridge._masks import masked, only_present
from attention_bridge._shapes import fitting_couplings, repeat_heads, score_shape
from attention_bridge.gradients import GRADIENTS, up_probability
from isingsample import IsingProblem, Sampler, get_sampler
from isingsample._core import checks as check

MODES = ("h+J", "h", "J", "softmax")
CLOSED_FORMS = ("h", "softmax")  # these need no sampler


def boltzmann_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    coupling: Tensor | None,
    three_body: Tensor | None = None,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    beta: float | Tensor = 1.0,
    mode: str = "h+J",
    normalize: bool = True,
    sampler: str | Sampler = "exact",
    gradient: str = "auto",
    generator: torch.Generator | None = None,
    return_weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Attention by sampling, in the place of torch's scaled_dot_product_attention.

    Names and meanings are those of `torch.nn.functional.scaled_dot_product_attention`. A masked
    key is removed from its query's problem. A query whose keys are all removed, or whose
    probabilities are all 0, gets output 0.

    Scores and sampling run in at least float32, under autocast too. The sampler is called once;
    its seed comes from torch's generator, so torch.manual_seed repeats it and activation
    checkpointing redraws the same samples (not with a `generator` of your own, which
    checkpointing does not rewind). Under torch.distributed each rank has its own samples.

    Args:
        query: (..., queries, d), usually (batch, heads, queries, d).
        key: (..., keys, d).
        value: (..., keys, d_value).
        coupling: J, any (keys, keys) matrix, or (heads, keys, keys) and further leading axes that
            broadcast against query's. Used as (W + W^T)/2 without its diagonal. None is fine
            in the modes "h" and "softmax", and beside three_body.
        three_body: K, (keys, keys, keys) with leading axes as for coupling; used as the mean over
            the orders of each triple.
        attn_mask: broadcast against (..., queries, keys): bool, True = attend; or float, added
            to h, where -inf removes the key, and so does the lowest number of a floating-point
            dtype, which some libraries write instead. Any other number is a field: -1e9 pins the
            spin at -1, where it goes on pushing the others through J.
        dropout_p: share of the weights set to 0, always, as in torch: pass 0 in evaluation.
        is_causal: query i attends to keys 0 ... i, counted from the top left; may be combined
            with attn_mask, which torch refuses.
        scale: factor of the scores; 1/sqrt(d) by default.
        enable_gqa: key and value may have fewer heads, each serving a run of query heads.
        beta: inverse temperature; a number, or a tensor without axes that may be learned.
        mode: "h+J"; "h", fields alone; "J", couplings alone, h = 0 but for a float mask; "softmax",
            torch's attention. "h" and "softmax" have closed forms and use no sampler.
        normalize: divide the weights of each query by their sum ("softmax" always does).
        sampler: a Sampler, or the name of one with its default options.
        gradient: "auto", "exact", "correlation", "straight_through", "straight_through_hard" or
            "mean_field"; see `attention_bridge.gradients`.
        generator: draws the sampler's seed (dropout uses torch's own, as in torch).
        return_weights: also return the weights, as they are before dropout.

    Returns:
        (..., queries, d_value) in query's dtype, and with return_weights (..., queries, keys).

    Raises:
        ValueError: shapes that do not fit, an unknown name, scores or couplings that are not
            finite, or a gradient that the sampler cannot give.
        TypeError: an argument of the wrong kind.
        RuntimeError: called inside torch.func.vmap, grad or their kin while sampling.
    """
    check.check_choice("mode", mode, MODES)
    check.check_choice("gradient", gradient, GRADIENTS)
    number = beta.item() if isinstance(beta, Tensor) and beta.ndim == 0 else beta
    check.check_number("beta", number, minimum=0.0)
    if enable_gqa:
        key, value = (repeat_heads(t, name, query) for t, name in ((key, "key"), (value, "value")))
    shape = score_shape(query, key, value)
    dtype = torch.promote_types(query.dtype, torch.float32)
    J = None if coupling is None else fitting_couplings("coupling", coupling, 2, shape, dtype)
    K = None if three_body is None else fitting_couplings("three_body", three_body, 3, shape, dtype)
    with torch.autocast(query.device.type, enabled=False):
        if mode == "J":
            h = query.new_zeros(shape, dtype=dtype)
        else:
            factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
            if not isinstance(factor, Tensor):
                factor = check.check_number("scale", factor)
            h = (query.to(dtype) * factor) @ key.to(dtype).mT
        h, present = masked(h, attn_mask, is_causal)
        if isinstance(beta, Tensor):  # only the products beta h, beta J and beta K matter
            h, J, K = (beta.to(h) * h, *(t if t is None else beta.to(t) * t for t in (J, K)))
            beta = 1.0
        if mode == "softmax":
            weights = _softmax(beta * h, present)
        elif mode == "h" and normalize:
            # In the log domain: where all sigmoids underflow, their ratios are still known.
            weights = _softmax(torch.nn.functional.logsigmoid(2 * beta * h), present)
        elif mode == "h":
            weights = only_present(present, torch.sigmoid(2 * beta * h))
        else:
            weights = _sampled(h, J, K, present, sampler, beta, generator, gradient)
            if normalize:
                weights = _normalised(weights)
        weights = _with_zero_gradients(weights, query, key, coupling, three_body)
        kept = torch.nn.functional.dropout(weights, dropout_p)
        output = (kept @ value.to(dtype)).to(query.dtype)
    return (output, weights.to(query.dtype)) if return_weights else output


def _sampled(
    h: Tensor,
    J: Tensor | None,
    K: Tensor | None,
    present: Tensor | None,
    sampler: str | Sampler,
    beta: float,
    generator: torch.Generator | None,
    gradient: str,
) -> Tensor:
    """P(s = +1) of all queries: (..., queries, keys)."""
    if J is None and K is None:
        raise ValueError(
            "coupling is None: pass a (keys, keys) matrix, or use mode='h' for fields alone"
        )

    def sample() -> Tensor:
        for tensor in (h, J, K):
            _refuse_transforms(tensor)
        chosen = _named(sampler) if isinstance(sampler, str) else sampler
        if not isinstance(chosen, Sampler):
            raise TypeError(f"sampler must be a Sampler or the name of one, not {sampler!r}")
        problem = IsingProblem(h, J, K, present)
        seed = _draw_seed(generator)
        return up_probability(problem, chosen, beta=beta, seed=seed, gradient=gradient)

    # Samplers are not for the compiler to trace; a compiled model pauses here and goes on after.
    # (Asked for only then: importing the compiler takes a second.)
    compiling = torch.compiler.is_compiling()
    run: Callable[[], Tensor] = (
        torch.compiler.disable(sample) if compiling else sample  # type: ignore[no-untyped-call]
    )
    return run()


@functools.cache
def _named(sampler: str) -> Sampler:
    """The sampler of this name; remembered, since looking through the registry takes a while."""
    return get_sampler(sampler)


def _refuse_transforms(tensor: Tensor | None) -> None:
    """Samplers read numbers, which tensors inside torch.func's transforms do not have."""
    if tensor is None:
        return
    try:
        tensor.data_ptr()
    except RuntimeError as error:
        raise RuntimeError(
            "boltzmann_attention cannot sample inside torch.func transforms (vmap, grad, jacrev "
            "and their kin): put what vmap would map over into leading axes, which are sampled "
            "together, and differentiate with torch.autograd"
        ) from error


def _draw_seed(generator: torch.Generator | None) -> int:
    """A seed from torch's generator, different for each rank of a distributed job."""
    if not isinstance(generator, torch.Generator | None):
        raise TypeError(f"generator must be a torch.Generator, not {type(generator).__name__}")
    device = "cpu" if generator is None else generator.device
    drawn = int(torch.randint(2**63 - 1, (), generator=generator, device=device))
    distributed = torch.distributed.is_available() and torch.distributed.is_initialized()
    rank = torch.distributed.get_rank() if distributed else 0
    return drawn + rank * 2**63


def _softmax(scores: Tensor, present: Tensor | None) -> Tensor:
    """Softmax over the keys that are present; a row without any is 0, not NaN."""
    lowest = torch.finfo(scores.dtype).min
    shown = scores if present is None else scores.masked_fill(~present, lowest)
    return only_present(present, torch.softmax(shown, dim=-1))


def _normalised(up: Tensor) -> Tensor:
    """Each row divided by its sum; a row whose sum is as good as 0 stays as it is."""
    total = up.sum(dim=-1, keepdim=True)
    # Gradients are of the order of 1/sum, which overflows where the sum comes near `tiny`; with
    # this margin there is room for what multiplies them. In float32 h = -35 is still above it.
    limits = torch.finfo(up.dtype)
    return up / total.masked_fill(total < limits.tiny / limits.eps, 1.0)


def _with_zero_gradients(weights: Tensor, *tensors: Tensor | None) -> Tensor:
    """weights, tied to tensors that this mode or batch may have had no use for.

    Their gradients are then zeros instead of None, for which data-parallel training would wait.
    """
    for tensor in tensors:
        if tensor is not None and tensor.requires_grad:
            weights = weights + tensor[..., :0].sum()
    return weights
