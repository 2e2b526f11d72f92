"""Adamax: Adam with the infinity norm in place of the second moment."""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

from .algorithm import Algorithm, as_real, check_betas, check_lr, check_nonnegative, number, options_of, scalar
from .optimizer import ParamsT

__all__ = ["Adamax"]


class Adamax(Algorithm):
    """Adamax.

        g = grad + weight_decay * p                      (-grad if `maximize`)
        m = beta1 * m + (1 - beta1) * g
        u = max(beta2 * u, abs(g) + eps)
        p = p - lr / (1 - beta1 ** t) * m / u

    Source: Kingma and Ba, Adam: A Method for Stochastic Optimization, 2014, section 7.

    Shape: parameters (*) -> the same, in place; state exp_avg and exp_inf (*), step ()
    Raises:
        ValueError: `lr`, `eps` or `weight_decay` is negative, as in `Adamax([ones(1)], lr=-1.0)`.
        ValueError: a beta is outside [0, 1), as in `Adamax([ones(1)], betas=(0.9, 1.0))`.

    >>> w = tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = Adamax([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.5000, 1.5000])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_nonnegative(epsilon=eps)
        check_betas(betas)
        check_nonnegative(weight_decay=weight_decay)
        super().__init__(
            params, options_of(locals(), "lr betas eps weight_decay foreach maximize differentiable capturable")
        )

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": scalar(0.0, group), "exp_avg": ops.zeros_like(p), "exp_inf": ops.zeros_like(p)}

    @staticmethod
    def _rule(param, grad, exp_avg, exp_inf, step, *, lr, beta1, beta2, eps, weight_decay, maximize):
        step += 1
        grad = -grad if maximize else grad
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        param, grad, exp_avg, exp_inf = as_real(param, grad, exp_avg, exp_inf)
        exp_avg.lerp_(grad, 1 - beta1)
        exp_inf.copy_(exp_inf.mul(beta2).maximum(grad.abs().add_(eps)))
        clr = number(lr / (1 - beta1 ** step.item()))
        param.addcdiv_(exp_avg, exp_inf, value=-clr)
