"""Adagrad: steps scaled by the sum of all squared gradients so far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

from .algorithm import Algorithm, as_real, check_fused, check_lr, check_nonnegative, number, options_of, scalar
from .dense import run
from .optimizer import ParamsT

__all__ = ["Adagrad"]


class Adagrad(Algorithm):
    """Adagrad.

        g = grad + weight_decay * p                                (-grad if `maximize`)
        s = s + g ** 2                                             (starts at `initial_accumulator_value`)
        p = p - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)

    Of a sparse gradient only the rows that it names are updated. The state exists from construction on.

    Source: Duchi et al., Adaptive Subgradient Methods for Online Learning and Stochastic Optimization, 2011.

    Shape: parameters (*) -> the same, in place; state sum (*), step ()
    Raises:
        ValueError: `lr`, `lr_decay`, `initial_accumulator_value` or `eps` is negative, as in
            `Adagrad([ones(1)], lr=-1.0)`.

    >>> w = tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = Adagrad([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach()
    tensor([0.5000, 1.5000])
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
        super().__init__(
            params,
            options_of(
                locals(),
                "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize differentiable fused",
            ),
        )
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

    def _check_flags(self, group: dict[str, Any], params: list[Tensor]) -> None:
        super()._check_flags(group, params)
        if group["fused"]:
            for p in params:
                check_fused(p)

    def _perform(self, update: Callable, lists: list[Any], options: dict[str, Any]) -> None:
        if any(grad.is_sparse for grad in lists[1]):
            _some_sparse(update, *lists, **options)
        else:
            run(update, *lists, **options)

    @staticmethod
    def _rule(param, grad, sum, step, *, lr, lr_decay, weight_decay, eps, maximize, differentiable):
        step += 1
        grad = -grad if maximize else grad
        if weight_decay != 0:
            grad = grad.add(param, alpha=weight_decay)
        clr = number(lr / (1 + (step.item() - 1) * lr_decay))
        param, grad, sum = as_real(param, grad, sum)
        sum.addcmul_(grad, grad, value=1)
        std = sum.sqrt() + eps if differentiable else sum.sqrt().add_(eps)
        param.addcdiv_(grad, std, value=-clr)


def _some_sparse(
    update: Callable, params: list[Tensor], grads: list[Any], sums: list[Tensor], steps: list[Tensor], **options: Any
) -> None:
    """The update where gradients are sparse: of those only the entries that they name."""
    for param, grad, total, step in zip(params, grads, sums, steps, strict=True):
        if not grad.is_sparse:
            update([param], [grad], [total], [step], **options)
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
