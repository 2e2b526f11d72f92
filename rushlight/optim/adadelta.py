"""Adadelta: steps scaled by the ratio of past steps to past gradients."""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

from .algorithm import Algorithm, as_real, check_lr, check_nonnegative, options_of, scalar
from .optimizer import ParamsT

__all__ = ["Adadelta"]


class Adadelta(Algorithm):
    """Adadelta.

        g = grad + weight_decay * p                      (-grad if `maximize`)
        v = rho * v + (1 - rho) * g ** 2
        d = sqrt(u + eps) / sqrt(v + eps) * g
        u = rho * u + (1 - rho) * d ** 2
        p = p - lr * d

    Source: Zeiler, ADADELTA: An Adaptive Learning Rate Method, 2012.

    Shape: parameters (*) -> the same, in place; state square_avg and acc_delta (*), step ()
    Raises:
        ValueError: `lr`, `eps` or `weight_decay` is negative, as in `Adadelta([ones(1)], lr=-1.0)`.
        ValueError: `rho` is outside [0, 1], as in `Adadelta([ones(1)], rho=2.0)`.

    >>> w = tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = Adadelta([w])
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach().round(decimals=2)
    tensor([1., 2.])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_nonnegative(epsilon=eps, weight_decay=weight_decay)
        super().__init__(
            params, options_of(locals(), "lr rho eps weight_decay maximize capturable foreach differentiable")
        )

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": scalar(0.0, group), "square_avg": ops.zeros_like(p), "acc_delta": ops.zeros_like(p)}

    @staticmethod
    def _rule(param, grad, square_avg, acc_delta, step, *, lr: float, rho, eps, weight_decay, maximize, differentiable):
        step += 1
        grad = -grad if maximize else grad
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        param, grad, square_avg, acc_delta = as_real(param, grad, square_avg, acc_delta)
        square_avg.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        std = square_avg.add(eps).sqrt_()
        delta = acc_delta.add(eps).sqrt_()
        if differentiable:
            delta = delta.clone()  # sqrt's gradient needs its result unchanged
        delta.div_(std).mul_(grad)
        acc_delta.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        param.add_(delta, alpha=-lr)
