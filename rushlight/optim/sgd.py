"""Stochastic gradient descent with momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight.core.tensor.tensor import Tensor

from .algorithm import Algorithm, check_fused, check_lr, is_recorded, number, options_of
from .dense import run
from .optimizer import ParamsT

__all__ = ["SGD"]


class SGD(Algorithm):
    """Stochastic gradient descent, with momentum if `momentum` is not 0.

        g = grad + weight_decay * p                                 (-grad if `maximize`)
        buf = momentum * buf + (1 - dampening) * g                  (the first step: buf = g)
        p = p - lr * (g + momentum * buf if `nesterov` else buf)

    `lr` and `weight_decay` may be one-element tensors; with `differentiable=True` the step is recorded, and
    gradients flow to them and through the parameters. `foreach` and `fused` give the same results as neither (with a
    parameter that is given twice, they raise where torch's results differ).

    Source: Sutskever et al., On the importance of initialization and momentum in deep learning, 2013.

    Shape: parameters (*) -> the same, in place; state momentum_buffer (*) with momentum
    Raises:
        ValueError: `lr`, `momentum` or `weight_decay` is negative, as in `SGD([ones(1)], lr=-1.0)`.
        ValueError: `nesterov` without momentum or with dampening, as in `SGD([ones(1)], lr=0.1, nesterov=True)`.

    >>> import rushlight as rl
    >>> w = rl.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = SGD([w], lr=0.25, momentum=0.9)
    >>> optimizer.zero_grad()
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.tolist()
    [0.5, 1.0]
    """

    _counters = ()
    _optional = ("momentum_buffer",)
    _started = "momentum_buffer"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params,
            options_of(locals(), "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused"),
        )
        self._check_fused_options(fused, foreach, differentiable)

    def _gather(self, group: dict[str, Any]) -> tuple[list[Tensor], list[Tensor], list[dict[str, Any]]]:
        """Makes no state: the rule does, where there is momentum. Gradients may be sparse."""
        pairs = [(p, grad) for p in group["params"] if (grad := p.grad) is not None]
        params, grads = [p for p, _ in pairs], [grad for _, grad in pairs]
        if group["fused"]:
            for p in params:
                check_fused(p)
        return params, grads, [self.state[p] for p in params] if group["momentum"] != 0 else []

    def _unused(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] == 0 else ()

    def _in_lockstep(self, group: dict[str, Any]) -> bool:
        return bool(group["foreach"]) and (group["momentum"] != 0 or group["weight_decay"] != 0)

    def _perform(self, update: Callable, lists: list[Any], options: dict[str, Any]) -> None:
        if any(grad.is_sparse for grad in lists[1]):
            update(*lists, **options)
        else:
            run(update, *lists, **options)

    @staticmethod
    def _rule(param, grad, momentum_buffer, *, lr, momentum, dampening, weight_decay, nesterov, maximize):
        grad = -grad if maximize else grad
        if weight_decay != 0:
            grad = _decayed(grad, param, weight_decay)
        started = None
        if momentum != 0:
            if momentum_buffer is None:
                momentum_buffer = started = _first_buffer(grad)
            else:
                momentum_buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
            grad = grad.add(momentum_buffer, alpha=momentum) if nesterov else momentum_buffer
        if is_recorded(lr):
            param.addcmul_(grad, lr, value=-1)
        else:
            param.add_(grad, alpha=-number(lr))
        return started


def _decayed(grad: Tensor, param: Tensor, weight_decay: float | Tensor) -> Tensor:
    if is_recorded(weight_decay):
        return grad.addcmul_(param.clone(), weight_decay)  # the rule writes param, so backward keeps a copy
    return grad.add(param, alpha=number(weight_decay))


def _first_buffer(grad: Tensor) -> Tensor:
    return grad.detach().clone()
