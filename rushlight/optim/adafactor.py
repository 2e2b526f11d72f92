"""Adafactor: Adam-like steps whose second moment of a matrix is kept as one row and one column."""

from __future__ import annotations

from typing import Any

from ml_dtypes import finfo

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

from .algorithm import Algorithm, check_lr, number, scalar, to_scalar
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

    ``eps`` is (eps1, eps2); eps1 None means the machine epsilon of the parameter's dtype.

    Raises ValueError for a negative lr, eps or weight_decay, beta2_decay above 0 and d below 1; RuntimeError at the
    step for complex parameters.

    Source: Shazeer and Stern, Adafactor: Adaptive Learning Rates with Sublinear Memory Cost, 2018.
    """

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
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": scalar(0.0, group)}
        shape = tuple(p.grad.shape)
        if len(shape) > 1:
            state["row_var"] = p.grad.new_zeros((*shape[:-1], 1))
            state["col_var"] = p.grad.new_zeros((*shape[:-2], 1, shape[-1]))
        else:
            state["variance"] = ops.zeros_like(p.grad)
        return state

    def _update(self, group: dict[str, Any]) -> None:
        if any(p.grad is not None and p.is_complex() for p in group["params"]):
            raise RuntimeError("Adafactor does not support complex parameters")
        if getattr(self, "grad_scale", None) is not None or getattr(self, "found_inf", None) is not None:
            raise AssertionError("Grad scaling should occur outside of optimizer.step()")
        params, grads, states = self._gather(group)
        eps1, eps2 = group["eps"]
        _single(
            params,
            grads,
            [state.get("row_var") for state in states],
            [state.get("col_var") for state in states],
            [state.get("variance") for state in states],
            [state["step"] for state in states],
            lr=to_scalar(group["lr"]),
            beta2_decay=group["beta2_decay"],
            eps1=eps1,
            eps2=eps2,
            d=group["d"],
            weight_decay=group["weight_decay"],
            maximize=group["maximize"],
        )


def _single(
    params: list[Tensor],
    grads: list[Tensor],
    row_vars: list[Any],
    col_vars: list[Any],
    variances: list[Tensor | None],
    steps: list[Tensor],
    *,
    lr: Any,
    beta2_decay: float,
    eps1: float | None,
    eps2: float,
    d: float,
    weight_decay: float,
    maximize: bool,
) -> None:
    """Update ``params`` and state in place; a matrix has ``row_vars`` and ``col_vars``, a vector ``variances``."""
    for i, param in enumerate(params):
        grad = -grads[i] if maximize else grads[i]
        if eps1 is None:
            eps1 = float(finfo(param.dtype.numpy).eps)
        step = steps[i]
        step += 1
        t = step.item()
        weight = t**beta2_decay
        alpha = max(eps2, param.norm(2).item() / (param.numel() ** 0.5)) * min(lr, 1 / (t**0.5))
        if weight_decay != 0:
            param.mul_(1 - lr * weight_decay)
        if variances[i] is None:
            estimate = _factored(grad, row_vars[i], col_vars[i], weight, eps1)
        else:
            estimate = variances[i].lerp_(grad * grad, weight).clone()
        update = estimate.clamp_(min=eps1 * eps1).rsqrt_()
        update.mul_(grad)
        denom = max(1.0, update.norm(2).item() / ((update.numel() ** 0.5) * d))
        param.add_(update, alpha=number(-alpha / denom))


def _factored(grad: Tensor, row_var: Tensor, col_var: Tensor, weight: float, eps1: float) -> Tensor:
    """Take the mean squares of rows and columns into the averages; return the second moment that the two represent."""
    row_var.lerp_(grad.norm(dim=-1, keepdim=True).square_().div_(grad.size(-1)), weight)
    col_var.lerp_(grad.norm(dim=-2, keepdim=True).square_().div_(grad.size(-2)), weight)
    return (row_var @ col_var).div_(row_var.mean(dim=-2, keepdim=True).clamp_(min=eps1))
