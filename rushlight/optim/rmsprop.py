"""RMSprop: steps scaled by a running average of the squared gradient."""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

from .algorithm import Algorithm, as_real, check_lr, check_nonnegative, options_of, scalar
from .optimizer import ParamsT

__all__ = ["RMSprop"]


class RMSprop(Algorithm):
    """RMSprop.

        g = grad + weight_decay * p                      (-grad if `maximize`)
        v = alpha * v + (1 - alpha) * g ** 2
        a = alpha * a + (1 - alpha) * g                  (only if `centered`; else a = 0)
        buf = momentum * buf + g / (sqrt(v - a ** 2) + eps)
        p = p - lr * buf

    Sources: Hinton's lecture notes, csc321, lecture 6; Graves, Generating Sequences With Recurrent Neural Networks,
    2013, for `centered`.

    Shape: parameters (*) -> the same, in place; state square_avg and, with their options, momentum_buffer and grad_avg
        (*), step ()
    Raises:
        ValueError: `lr`, `alpha`, `eps`, `weight_decay` or `momentum` is negative, as in `RMSprop([ones(1)], lr=-1.0)`.

    >>> w = tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = RMSprop([w], lr=0.05)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach().round(decimals=2)
    tensor([0.5000, 1.5000])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_nonnegative(epsilon=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        super().__init__(
            params,
            options_of(
                locals(), "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
            ),
        )

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": scalar(0.0, group), "square_avg": ops.zeros_like(p)}
        if group["momentum"] > 0:
            state["momentum_buffer"] = ops.zeros_like(p)
        if group["centered"]:
            state["grad_avg"] = ops.zeros_like(p)
        return state

    def _unused(self, group: dict[str, Any]) -> tuple[str, ...]:
        wanted = {"grad_avg": group["centered"], "momentum_buffer": group["momentum"] > 0}
        return tuple(name for name, is_wanted in wanted.items() if not is_wanted)

    @staticmethod
    def _rule(
        param, grad, square_avg, grad_avg, momentum_buffer, step, *,
        lr: float, alpha, eps, weight_decay, momentum, maximize, differentiable,
    ):  # fmt: skip
        grad = -grad if maximize else grad
        step += 1
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        param, grad, square_avg = as_real(param, grad, square_avg)
        square_avg.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if grad_avg is not None:
            (grad_avg,) = as_real(grad_avg)
            grad_avg.lerp_(grad, 1 - alpha)
            avg = square_avg.addcmul(grad_avg, grad_avg, value=-1).sqrt_()
        else:
            avg = square_avg.sqrt()
        avg = avg.add(eps) if differentiable else avg.add_(eps)  # sqrt's gradient needs its result unchanged
        if momentum_buffer is not None:
            (buffer,) = as_real(momentum_buffer)
            buffer.mul_(momentum).addcdiv_(grad, avg)
            param.add_(buffer, alpha=-lr)
        else:
            param.addcdiv_(grad, avg, value=-lr)
