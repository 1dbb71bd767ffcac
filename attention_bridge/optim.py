"""Parameter groups in which couplings have a learning rate of their own."""

from typing import Any

from torch import nn

from attention_bridge.couplings import Couplings


def parameter_groups(
    model: nn.Module,
    *,
    lr: float,
    coupling_lr: float | None = None,
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
    """
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
            "lr": lr if coupling_lr is None else coupling_lr,
            "weight_decay": coupling_weight_decay,
        },
    ]
    return [group for group in groups if group["params"]]
