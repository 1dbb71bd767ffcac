"""Parameter groups in which couplings have a learning rate of their own."""

from typing import Any

from torch import Tensor, nn

from attention_bridge.couplings import Couplings
from isingsample._core import checks as check


def parameter_groups(
    model: nn.Module,
    *,
    lr: float | Tensor,
    coupling_lr: float | Tensor | None = None,
    weight_decay: float = 0.0,
    coupling_weight_decay: float = 0.0,
) -> list[dict[str, Any]]:
    """The parameters of a model in two groups, for any optimiser of torch.

    Couplings are those of every `Couplings` module, however deep in the model. Weight decay would
    pull them to independent keys, and by default leaves them alone.

    Args:
        model: any module, with attention layers inside.
        lr: learning rate of all other parameters.
        coupling_lr: learning rate of the couplings; lr by default.
        weight_decay: of all other parameters.
        coupling_weight_decay: of the couplings.

    Returns:
        the groups, without empty ones; parameters that need no gradient are left out.

    Raises:
        TypeError: model is not a module, or a rate is not a number.
        ValueError: a rate is negative or not finite, which torch's optimisers do not check.
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, not {type(model).__name__}")
    rates = {"lr": lr, "coupling_lr": lr if coupling_lr is None else coupling_lr}
    rates |= {"weight_decay": weight_decay, "coupling_weight_decay": coupling_weight_decay}
    for name, rate in rates.items():
        check.check_number(name, rate.item() if isinstance(rate, Tensor) else rate, minimum=0.0)
    couplings = {
        parameter
        for module in model.modules()
        if isinstance(module, Couplings)
        for parameter in module.parameters()
    }
    learned = [parameter for parameter in model.parameters() if parameter.requires_grad]
    groups = [
        {
            "params": [p for p in learned if p not in couplings],
            "lr": lr,
            "weight_decay": weight_decay,
        },
        {
            "params": [p for p in learned if p in couplings],
            "lr": rates["coupling_lr"],
            "weight_decay": coupling_weight_decay,
        },
    ]
    return [group for group in groups if group["params"]]
