"""SparseAdam: Adam on the rows that a sparse gradient names."""

from __future__ import annotations

import math
from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

from .algorithm import Algorithm, check_betas, check_lr
from .optimizer import ParamsT

__all__ = ["SparseAdam"]


class SparseAdam(Algorithm):
    """Adam for dense parameters with sparse gradients.

    Only the entries that a gradient names are updated, moments too:

        m = m + (1 - beta1) * (g - m)          v = v + (1 - beta2) * (g ** 2 - v)
        p = p - lr * sqrt(1 - beta2 ** t) / (1 - beta1 ** t) * m / (sqrt(v) + eps)

    Shape: parameters (*) -> the same, in place; state exp_avg and exp_avg_sq (*)
    Raises:
        ValueError: `lr` or `eps` is not positive, as in `SparseAdam([ones(1)], lr=-1.0)`.
        ValueError: a beta is outside [0, 1), as in `SparseAdam([ones(1)], betas=(0.9, 1.0))`.
    """

    _counters = ()

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_lr(lr)
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        entries = [(i, j, p) for i, group in enumerate(self.param_groups) for j, p in enumerate(group["params"])]
        sparse = [[i, j] for i, j, p in entries if p.is_sparse]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")
        complex_params = [[i, j] for i, j, p in entries if p.is_complex()]
        if complex_params:
            raise ValueError(
                f"Complex params at indices {complex_params}: SparseAdam does not support complex parameters"
            )

    def _update(self, group: dict[str, Any]) -> None:
        grads = [p.grad for p in group["params"] if p.grad is not None]
        if any(not grad.is_sparse for grad in grads):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        beta1, beta2 = group["betas"]
        for p in group["params"]:
            if p.grad is None:
                continue
            state = self.state[p]
            if not state:
                state.update(step=0, exp_avg=ops.zeros_like(p), exp_avg_sq=ops.zeros_like(p))
            state["step"] += 1
            grad = (-p.grad if group["maximize"] else p.grad).coalesce()
            if grad._values().numel():
                step_size = group["lr"] * math.sqrt(1 - beta2 ** state["step"]) / (1 - beta1 ** state["step"])
                _update_rows(p, grad, state["exp_avg"], state["exp_avg_sq"], beta1, beta2, step_size, group["eps"])


def _update_rows(
    p: Tensor, grad: Any, exp_avg: Tensor, exp_avg_sq: Tensor, beta1: float, beta2: float, step_size: Any, eps: float
) -> None:
    """The update of the entries that the coalesced sparse `grad` names."""
    values = grad._values()
    m, v = exp_avg.sparse_mask(grad)._values(), exp_avg_sq.sparse_mask(grad)._values()
    m_change = values.sub(m).mul_(1 - beta1)
    v_change = values.pow(2).sub_(v).mul_(1 - beta2)
    exp_avg.add_(grad._like(m_change))
    exp_avg_sq.add_(grad._like(v_change))
    numerator = m_change.add_(m)
    denominator = v_change.add_(v).sqrt_().add_(eps)
    p.add_(grad._like(-step_size * numerator.div_(denominator)))
