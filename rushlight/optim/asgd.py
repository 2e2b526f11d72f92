"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

from .algorithm import Algorithm, as_real, check_lr, check_nonnegative, number, scalar, to_scalar
from .dense import run
from .optimizer import ParamsT

__all__ = ["ASGD"]


class ASGD(Algorithm):
    """Averaged stochastic gradient descent; the average of the parameters is ``state[p]["ax"]``.

        g = grad + weight_decay * p                                    (-grad if ``maximize``)
        p = p * (1 - lambd * eta) - eta * g                            (eta starts at lr)
        ax = ax + mu * (p - ax)                                        (mu starts at 1)
        eta = lr / (1 + lambd * lr * t) ** alpha
        mu = 1 / max(1, t - t0)

    Raises ValueError for a negative lr or weight_decay.

    Source: Polyak and Juditsky, Acceleration of stochastic approximation by averaging, 1992.
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
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": scalar(0.0, group),
            "eta": scalar(number(to_scalar(group["lr"])), group),
            "mu": scalar(1.0, group),
            "ax": ops.zeros_like(p),
        }

    def _update(self, group: dict[str, Any]) -> None:
        params, grads, states = self._gather(group)
        run(
            _single,
            params,
            grads,
            [state["ax"] for state in states],
            [state["mu"] for state in states],
            [state["eta"] for state in states],
            [state["step"] for state in states],
            lr=to_scalar(group["lr"]),
            lambd=group["lambd"],
            alpha=group["alpha"],
            t0=group["t0"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )


def _single(
    params: list[Tensor],
    grads: list[Tensor],
    averages: list[Tensor],
    mus: list[Tensor],
    etas: list[Tensor],
    steps: list[Tensor],
    *,
    lr: float | Tensor,
    lambd: float,
    alpha: float,
    t0: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """Update ``params``, ``averages`` and the 0-d ``mus``, ``etas`` and ``steps`` in place."""
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        param, grad, average = as_real(param, grad, averages[i])
        step = steps[i]
        step += 1
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        eta, mu = etas[i].item(), mus[i].item()
        param.mul_(1 - lambd * eta)
        param.add_(grad, alpha=-eta)
        if mu == 1:
            average.copy_(param)
        else:
            average.add_(param.sub(average).mul_(mu))
        t = step.item()
        etas[i].fill_(number(lr / ((1 + lambd * lr * t) ** alpha)))
        mus[i].fill_(1 / max(1, t - t0))
