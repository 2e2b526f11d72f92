"""Stochastic gradient descent with momentum."""

from __future__ import annotations

from functools import partial
from typing import Any

from rushlight.core.tensor.tensor import Tensor

from .algorithm import Algorithm, check_fused, check_lr, number, to_scalar
from .dense import run
from .optimizer import ParamsT

__all__ = ["SGD"]


class SGD(Algorithm):
    """Stochastic gradient descent, with momentum if ``momentum`` is not 0.

        g = grad + weight_decay * p                                 (-grad if ``maximize``)
        buf = momentum * buf + (1 - dampening) * g                  (the first step: buf = g)
        p = p - lr * (g + momentum * buf if ``nesterov`` else buf)

    ``lr`` and ``weight_decay`` may be one-element tensors; with ``differentiable=True`` the step is recorded, and
    gradients flow to them and through the parameters. ``foreach`` and ``fused`` give the same results as neither.

    Raises ValueError for a negative lr, momentum or weight_decay, and for nesterov without momentum or with dampening.

    Source: Sutskever et al., On the importance of initialization and momentum in deep learning, 2013.

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
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        self._check_fused_options(fused, foreach, differentiable)

    def _update(self, group: dict[str, Any]) -> None:
        params, grads = self._gather_stateless(group)
        momentum = group["momentum"]
        states = [self.state[p] for p in params] if momentum != 0 else []
        buffers = [state.get("momentum_buffer") for state in states]
        if not self._unscale(group, grads):
            return
        first = any(buffer is None for buffer in buffers)
        perform = _single if any(grad.is_sparse for grad in grads) else partial(run, _single)
        perform(
            params,
            grads,
            buffers if momentum != 0 else None,
            lr=to_scalar(group["lr"]),
            momentum=momentum,
            dampening=group["dampening"],
            weight_decay=group["weight_decay"],
            nesterov=group["nesterov"],
            maximize=group["maximize"],
        )
        if first:
            for state, buffer in zip(states, buffers, strict=True):
                state["momentum_buffer"] = buffer

    def _gather_stateless(self, group: dict[str, Any]) -> tuple[list[Tensor], list[Tensor]]:
        """As ``_gather``, without making state (plain descent leaves ``state`` empty); sparse gradients may be there."""
        pairs = [(p, grad) for p in group["params"] if (grad := p.grad) is not None]
        params, grads = [p for p, _ in pairs], [grad for _, grad in pairs]
        if group["fused"]:
            for p in params:
                check_fused(p)
        return params, grads


def _single(
    params: list[Tensor],
    grads: list[Tensor],
    buffers: Any,
    *,
    lr: float | Tensor,
    momentum: float,
    dampening: float,
    weight_decay: float | Tensor,
    nesterov: bool,
    maximize: bool,
) -> None:
    """Update ``params`` in place; ``buffers`` (None without momentum) gets a tensor where it holds None."""
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        if weight_decay != 0:
            if isinstance(weight_decay, Tensor) and weight_decay.requires_grad:
                # param itself is written below, so backward keeps a copy
                grad = grad.addcmul_(param.clone(), weight_decay)
            else:
                grad = grad.add(param, alpha=number(weight_decay))
        if momentum != 0:
            buffer = buffers[i]
            if buffer is None:
                buffers[i] = buffer = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
            grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
        if isinstance(lr, Tensor) and lr.requires_grad:
            param.addcmul_(grad, lr, value=-1)
        else:
            param.add_(grad, alpha=-number(lr))
