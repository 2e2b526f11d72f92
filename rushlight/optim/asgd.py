"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

from .algorithm import Algorithm, as_real, check_lr, check_nonnegative, number, options_of, scalar, to_scalar
from .optimizer import ParamsT

__all__ = ["ASGD"]


class ASGD(Algorithm):
    """Averaged stochastic gradient descent; the average of the parameters is `state[p]["ax"]`.

        g = grad + weight_decay * p                                    (-grad if `maximize`)
        p = p * (1 - lambd * eta) - eta * g                            (eta starts at lr)
        ax = ax + mu * (p - ax)                                        (mu starts at 1)
        eta = lr / (1 + lambd * lr * t) ** alpha
        mu = 1 / max(1, t - t0)

    Source: Polyak and Juditsky, Acceleration of stochastic approximation by averaging, 1992.

    Shape: parameters (*) -> the same, in place; state ax (*), step, eta and mu ()
    Raises:
        ValueError: `lr` or `weight_decay` is negative, as in `ASGD([ones(1)], lr=-1.0)`.
        ValueError: there are no parameters, as in `ASGD([])`.

    >>> w = tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = ASGD([w], lr=0.25)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach().round(decimals=2)
    tensor([0.5000, 1.0000])
    """

    _counters = ("step", "eta", "mu")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_nonnegative(weight_decay=weight_decay)
        super().__init__(
            params, options_of(locals(), "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable")
        )

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": scalar(0.0, group),
            "eta": scalar(number(to_scalar(group["lr"])), group),
            "mu": scalar(1.0, group),
            "ax": ops.zeros_like(p),
        }

    @staticmethod
    def _rule(param, grad, ax, mu, eta, step, *, lr, lambd, alpha, t0, weight_decay, maximize):
        grad = -grad if maximize else grad
        param, grad, average = as_real(param, grad, ax)
        step += 1
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        size, weight = eta.item(), mu.item()
        param.mul_(1 - lambd * size)
        param.add_(grad, alpha=-size)
        if weight == 1:
            average.copy_(param)
        else:
            average.add_(param.sub(average).mul_(weight))
        t = step.item()
        eta.fill_(number(lr / ((1 + lambd * lr * t) ** alpha)))
        mu.fill_(1 / max(1, t - t0))
