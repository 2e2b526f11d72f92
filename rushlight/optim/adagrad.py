"""Adagrad: steps scaled by the sum of all squared gradients so far."""

from __future__ import annotations

from functools import partial
from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

from .algorithm import Algorithm, as_real, check_fused, check_lr, check_nonnegative, number, scalar, to_scalar
from .dense import run
from .optimizer import ParamsT

__all__ = ["Adagrad"]


class Adagrad(Algorithm):
    """Adagrad.

        g = grad + weight_decay * p                                (-grad if ``maximize``)
        s = s + g ** 2                                             (starts at ``initial_accumulator_value``)
        p = p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)

    Of a sparse gradient only the rows that it names are updated. The state exists from construction on. Raises ValueError for a negative lr, lr_decay, weight_decay,
    initial_accumulator_value or eps.

    Source: Duchi et al., Adaptive Subgradient Methods for Online Learning and Stochastic Optimization, 2011.
    """

    _refuses_sparse = None

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_nonnegative(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            epsilon=eps,
        )
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        self._check_fused_options(fused, foreach, differentiable)
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p].update(self._new_state(p, group))

    def share_memory(self) -> None:
        """Move the sums of squares to shared memory."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        start = self.defaults["initial_accumulator_value"]
        return {
            "step": scalar(0.0, group),
            "sum": ops.full_like(p, complex(start, start) if p.is_complex() else start),
        }

    def _update(self, group: dict[str, Any]) -> None:
        sparse = any(p.grad is not None and p.grad.is_sparse for p in group["params"])
        params, grads, states = self._gather(group)
        if group["fused"]:
            for p in params:
                check_fused(p)
        if not self._unscale(group, grads):
            return
        perform = _some_sparse if sparse else partial(run, _single)
        perform(
            params,
            grads,
            [state["sum"] for state in states],
            [state["step"] for state in states],
            lr=to_scalar(group["lr"]),
            lr_decay=group["lr_decay"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
            differentiable=group["differentiable"],
        )


def _single(
    params: list[Tensor],
    grads: list[Tensor],
    sums: list[Tensor],
    steps: list[Tensor],
    *,
    lr: float | Tensor,
    lr_decay: float,
    weight_decay: float,
    eps: float,
    maximize: bool,
    differentiable: bool,
) -> None:
    """Update ``params``, ``sums`` and the 0-d ``steps`` in place."""
    for i, param in enumerate(params):
        step = steps[i]
        step += 1
        grad = -grads[i] if maximize else grads[i]
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        clr = number(lr / (1 + (step.item() - 1) * lr_decay))
        param, grad, total = as_real(param, grad, sums[i])
        total.addcmul_(grad, grad, value=1)
        std = total.sqrt() + eps if differentiable else total.sqrt().add_(eps)
        param.addcdiv_(grad, std, value=-clr)


def _some_sparse(
    params: list[Tensor], grads: list[Any], sums: list[Tensor], steps: list[Tensor], **options: Any
) -> None:
    """The update where gradients are sparse: of those only the entries that they name."""
    for param, grad, total, step in zip(params, grads, sums, steps, strict=True):
        if not grad.is_sparse:
            _single([param], [grad], [total], [step], **options)
            continue
        if options["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        step += 1
        clr = number(options["lr"] / (1 + (step.item() - 1) * options["lr_decay"]))
        _update_rows(param, (-grad if options["maximize"] else grad).coalesce(), total, clr, options["eps"])


def _update_rows(param: Tensor, grad: Any, total: Tensor, clr: float, eps: float) -> None:
    """The update of the entries that a coalesced sparse gradient names."""
    values = grad._values()
    total.add_(grad._like(values.pow(2)))
    std = total.sparse_mask(grad)._values().sqrt_().add_(eps)
    param.add_(grad._like(values / std), alpha=-clr)
