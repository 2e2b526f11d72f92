"""AdamW: Adam whose weight decay does not pass through the moments."""

from __future__ import annotations

from typing import Any

from rushlight.core.tensor.tensor import Tensor

from .adam import Adam
from .optimizer import ParamsT

__all__ = ["AdamW"]


class AdamW(Adam):
    """Adam with decoupled weight decay: p = p * (1 - lr * weight_decay) before Adam's update of p.

    Options, results and errors as for :class:`Adam`, but that weight decay defaults to 0.01.

    Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, 2017.

    Shape: parameters (*) -> the same, in place; state exp_avg, exp_avg_sq and, with amsgrad, max_exp_avg_sq (*), step
        ()
    Raises:
        ValueError: `lr`, `eps` or `weight_decay` is negative, as in `AdamW([ones(1)], lr=-1.0)`.
        ValueError: a beta is outside [0, 1), as in `AdamW([ones(1)], betas=(0.9, 1.0))`.

    >>> w = tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = AdamW([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.4950, 1.4900])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
