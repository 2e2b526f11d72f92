"""RAdam: Adam that takes plain momentum steps until its second moment can be trusted."""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

from .algorithm import Algorithm, as_real, check_betas, check_lr, check_nonnegative, options_of, scalar
from .optimizer import ParamsT

__all__ = ["RAdam"]


class RAdam(Algorithm):
    """RAdam, rectified Adam.

        g = grad + weight_decay * p                      (-grad if `maximize`)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g ** 2
        rho_inf = 2 / (1 - beta2) - 1
        rho = rho_inf - 2 * t * beta2 ** t / (1 - beta2 ** t)
        r = sqrt((rho - 4) * (rho - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho))
        p = p - lr * m / (1 - beta1 ** t) * (r * sqrt(1 - beta2 ** t) / (sqrt(v) + eps) if rho > 5 else 1)

    `decoupled_weight_decay` shrinks p by 1 - lr * weight_decay instead of adding to the gradient.

    Source: Liu et al., On the Variance of the Adaptive Learning Rate and Beyond, 2019.

    Shape: parameters (*) -> the same, in place; state exp_avg and exp_avg_sq (*), step ()
    Raises:
        ValueError: `lr`, `eps` or `weight_decay` is negative, as in `RAdam([ones(1)], lr=-1.0)`.
        ValueError: a beta is outside [0, 1), as in `RAdam([ones(1)], betas=(0.9, 1.0))`.

    >>> w = tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = RAdam([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach().round(decimals=2)
    tensor([0.5000, 1.0000])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_nonnegative(epsilon=eps)
        check_betas(betas)
        check_nonnegative(weight_decay=weight_decay)
        super().__init__(
            params,
            options_of(
                locals(), "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay differentiable"
            ),
        )

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": scalar(0.0, group), "exp_avg": ops.zeros_like(p), "exp_avg_sq": ops.zeros_like(p)}

    @staticmethod
    def _rule(
        param, grad, exp_avg, exp_avg_sq, step, *,
        lr, beta1, beta2, eps, weight_decay, decoupled_weight_decay, maximize, differentiable,
    ):  # fmt: skip
        rho_inf = 2 / (1 - beta2) - 1  # the length of the moving average in the limit
        grad = -grad if maximize else grad
        param, grad, exp_avg, exp_avg_sq = as_real(param, grad, exp_avg, exp_avg_sq)
        step += 1
        t = step.item()
        if weight_decay != 0:
            if decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = grad.add(param, alpha=weight_decay)
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        bias_correction2 = 1 - beta2**t
        update = exp_avg / (1 - beta1**t) * lr
        rho_t = rho_inf - 2 * t * (beta2**t) / bias_correction2
        if rho_t > 5.0:
            root = exp_avg_sq.sqrt()
            root = root.add(eps) if differentiable else root.add_(eps)  # sqrt's gradient needs its result unchanged
            rect = (rho_t - 4) * (rho_t - 2) * rho_inf / ((rho_inf - 4) * (rho_inf - 2) * rho_t)
            update = update * ((bias_correction2**0.5) / root) * rect**0.5
        param.add_(update, alpha=-1.0)
