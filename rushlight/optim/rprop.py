"""Resilient backpropagation: each element has a step size of its own, led by the gradient's sign alone."""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

from .algorithm import Algorithm, as_real, check_lr, number, options_of, scalar, to_scalar
from .optimizer import ParamsT

__all__ = ["Rprop"]


class Rprop(Algorithm):
    """Resilient backpropagation, elementwise:

        same sign as the last gradient:  size = min(size * etas[1], step_sizes[1])
        the other sign:                  size = max(size * etas[0], step_sizes[0]) and g = 0
        p = p - size * sign(g)                                     (size starts at lr)

    Source: Riedmiller and Braun, A Direct Adaptive Method for Faster Backpropagation Learning, 1993.

    Shape: parameters (*) -> the same, in place; state prev and step_size (*), step ()
    Raises:
        ValueError: `lr` is negative, as in `Rprop([ones(1)], lr=-1.0)`.
        ValueError: not 0 < etas[0] < 1 < etas[1], as in `Rprop([ones(1)], etas=(1.0, 1.2))`.

    >>> w = tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = Rprop([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.5000, 1.5000])
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, options_of(locals(), "lr etas step_sizes foreach maximize differentiable capturable"))

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        size = number(to_scalar(group["lr"]))
        return {
            "step": scalar(0.0, group),
            "prev": ops.zeros_like(p),
            "step_size": ops.full_like(p.grad, complex(size, size) if p.is_complex() else size),
        }

    @staticmethod
    def _rule(param, grad, prev, step_size, step, *, etas, step_sizes, maximize, differentiable):
        shrink, grow = etas
        step += 1
        grad = -grad if maximize else grad
        param, grad, prev, step_size = as_real(param, grad, prev, step_size)
        factor = grad.mul(prev.clone() if differentiable else prev).sign()
        factor[factor.gt(0)] = grow
        factor[factor.lt(0)] = shrink
        factor[factor.eq(0)] = 1
        step_size.mul_(factor).clamp_(*step_sizes)
        grad = grad.clone()
        grad[factor.eq(shrink)] = 0
        param.addcmul_(grad.sign(), step_size, value=-1)
        prev.copy_(grad)
