"""SparseAdam: Adam on the rows that a sparse gradient names."""

from __future__ import annotations

from typing import Any

from rushlight.core.tensor import Tensor

from .algorithm import Algorithm, check_betas, check_lr
from .optimizer import ParamsT

__all__ = ["SparseAdam"]


class SparseAdam(Algorithm):
    """Adam for dense parameters with sparse gradients.

    Options and state as in torch. Rushlight makes no sparse gradients yet, so a step over gradients raises:
    RuntimeError for dense ones, as in torch, and NotImplementedError for sparse ones.
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
        if grads:
            raise NotImplementedError("SparseAdam over sparse gradients")
