"""Adafactor: Adam-like steps whose second moment of a matrix is kept as one row and one column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ml_dtypes import finfo

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

from .algorithm import Algorithm, check_lr, number, options_of, scalar
from .optimizer import ParamsT

__all__ = ["Adafactor"]


class Adafactor(Algorithm):
    """Adafactor.

        b = t ** beta2_decay,  rho = min(lr, 1 / sqrt(t)),  a = max(eps2, rms(p)) * rho
        p = p * (1 - lr * weight_decay)
        R = R + b * (row means of g ** 2 - R),  C likewise over columns,  V = R C / max(mean of R, eps1)   (2 or more
        dimensions, over the last two; else V = V + b * (g ** 2 - V))
        U = g / max(sqrt(V), eps1)
        p = p - a * U / max(1, rms(U) / d)

    `eps` is (eps1, eps2); eps1 None means the machine epsilon of the parameter's dtype.

    Source: Shazeer and Stern, Adafactor: Adaptive Learning Rates with Sublinear Memory Cost, 2018.

    Shape: parameters (*, n, m) -> the same, in place; state row_var (*, n, 1), col_var (*, 1, m), of fewer dimensions
        variance (n), step ()
    Raises:
        ValueError: `lr` or `weight_decay` is negative, as in `Adafactor([ones(1)], lr=-1.0)`.
        ValueError: `beta2_decay` is above 0, as in `Adafactor([ones(1)], beta2_decay=1.0)`.
        ValueError: `d` is below 1, as in `Adafactor([ones(1)], d=0.5)`.

    >>> w = ones(2, 3, requires_grad=True)
    >>> optimizer = Adafactor([w])
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> optimizer.state[w]["row_var"].shape
    torch.Size([2, 1])
    """

    _without = ("differentiable",)
    _optional = ("row_var", "col_var", "variance")  # a matrix has the first two, a vector the last

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, options_of(locals(), "lr beta2_decay eps d weight_decay foreach maximize"))

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": scalar(0.0, group)}
        shape = tuple(p.grad.shape)
        if len(shape) > 1:
            state["row_var"] = p.grad.new_zeros((*shape[:-1], 1))
            state["col_var"] = p.grad.new_zeros((*shape[:-2], 1, shape[-1]))
        else:
            state["variance"] = ops.zeros_like(p.grad)
        return state

    def _gather(self, group: dict[str, Any]) -> tuple[list[Tensor], list[Tensor], list[dict[str, Any]]]:
        if any(p.grad is not None and p.is_complex() for p in group["params"]):
            raise RuntimeError("Adafactor does not support complex parameters")
        if getattr(self, "grad_scale", None) is not None or getattr(self, "found_inf", None) is not None:
            raise AssertionError("Grad scaling should occur outside of optimizer.step()")
        return super()._gather(group)

    def _perform(self, update: Callable, lists: list[Any], options: dict[str, Any]) -> None:
        params, (eps1, eps2) = lists[0], options["eps"]
        if eps1 is None and params:  # the first parameter's, as in torch
            eps1 = float(finfo(params[0].dtype.numpy).eps)
        super()._perform(update, lists, options | {"eps": (eps1, eps2)})

    @staticmethod
    def _rule(
        param, grad, row_var, col_var, variance, step, *, lr, beta2_decay, eps, d, weight_decay, maximize
    ):  # fmt: skip
        eps1, eps2 = eps
        grad = -grad if maximize else grad
        step += 1
        t = step.item()
        weight = t**beta2_decay
        alpha = max(eps2, param.norm(2).item() / (param.numel() ** 0.5)) * min(lr, 1 / (t**0.5))
        if weight_decay != 0:
            param.mul_(1 - lr * weight_decay)
        if variance is None:
            estimate = _factored(grad, row_var, col_var, weight, eps1)
        else:
            estimate = variance.lerp_(grad * grad, weight).clone()
        update = estimate.clamp_(min=eps1 * eps1).rsqrt_()
        update.mul_(grad)
        denom = max(1.0, update.norm(2).item() / ((update.numel() ** 0.5) * d))
        param.add_(update, alpha=number(-alpha / denom))


def _factored(grad: Tensor, row_var: Tensor, col_var: Tensor, weight: float, eps1: float) -> Tensor:
    """Take the mean squares of rows and columns into the averages; return the second moment that the two represent."""
    row_var.lerp_(grad.norm(dim=-1, keepdim=True).square_().div_(grad.size(-1)), weight)
    col_var.lerp_(grad.norm(dim=-2, keepdim=True).square_().div_(grad.size(-2)), weight)
    return (row_var @ col_var).div_(row_var.mean(dim=-2, keepdim=True).clamp_(min=eps1))
