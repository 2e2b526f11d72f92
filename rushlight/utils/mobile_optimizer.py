"""torch.utils.mobile_optimizer: rewriting TorchScript programs for phones; there is no TorchScript here."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["optimize_for_mobile"]


def optimize_for_mobile(*args: Any, **kwargs: Any) -> NoReturn:
    """Rewrite a scripted module. Raises NotImplementedError."""
    raise NotImplementedError(
        "torch.utils.mobile_optimizer.optimize_for_mobile: there are no TorchScript programs here"
    )
