"""Muon: momentum whose matrix is orthogonalised before each step."""

from __future__ import annotations

import math
from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

from .algorithm import Algorithm, check_lr, number, options_of
from .optimizer import ParamsT

__all__ = ["Muon"]


class Muon(Algorithm):
    """Muon, for the matrices of hidden layers; give biases and embeddings to another optimizer.

        buf = buf + (1 - momentum) * (grad - buf)
        u = grad + momentum * (buf - grad) if `nesterov` else buf
        p = p * (1 - lr * weight_decay) - lr * ratio * orthogonalised(u)

    `ns_steps` Newton-Schulz iterations in bfloat16 with coefficients `ns_coefficients` bring the singular values of
    u near 1. `adjust_lr_fn` is "original" (also None: ratio sqrt(max(1, A / B)) for a matrix of A rows and B columns)
    or "match_rms_adamw" (0.2 * sqrt(max(A, B))).

    Sources: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024; Liu et al., Muon is Scalable
    for LLM Training, 2025.

    Shape: parameters (A, B) -> the same, in place; state momentum_buffer (A, B)
    Raises:
        ValueError: a parameter is not 2-D, as in `Muon([ones(1)])`.
        ValueError: `lr`, `momentum` or `weight_decay` is negative, as in `Muon([ones(1, 1)], lr=-1.0)`.

    >>> w = ones(2, 3, requires_grad=True)
    >>> optimizer = Muon([w])
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> optimizer.state[w]["momentum_buffer"].shape
    torch.Size([2, 3])
    """

    _counters = ()
    _without = ("differentiable",)

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not momentum >= 0.0:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(
            params,
            options_of(locals(), "lr weight_decay momentum nesterov ns_coefficients eps ns_steps adjust_lr_fn"),
        )
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                    )

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"momentum_buffer": ops.zeros_like(p.grad)}

    def _gather(self, group: dict[str, Any]) -> tuple[list[Tensor], list[Tensor], list[dict[str, Any]]]:
        if any(p.grad is not None and p.is_complex() for p in group["params"]):
            raise RuntimeError("Muon does not support complex parameters")
        return super()._gather(group)

    @staticmethod
    def _rule(
        param, grad, momentum_buffer, *,
        lr, weight_decay, momentum, nesterov, ns_coefficients, ns_steps, eps, adjust_lr_fn,
    ):  # fmt: skip
        if grad.ndim != 2:
            raise ValueError("Param gradient must be a 2D matrix")
        momentum_buffer.lerp_(grad, 1 - momentum)
        update = grad.lerp(momentum_buffer, momentum) if nesterov else momentum_buffer
        update = _orthogonalise(update, ns_coefficients, ns_steps, eps)
        rows, columns = param.shape
        ratio = 0.2 * math.sqrt(max(rows, columns)) if adjust_lr_fn == "match_rms_adamw" else _original(rows, columns)
        param.mul_(1 - lr * weight_decay)
        param.add_(update.to(param.dtype), alpha=number(-(lr * ratio)))


def _original(rows: int, columns: int) -> float:
    return math.sqrt(max(1, rows / columns))


def _orthogonalise(x: Tensor, coefficients: tuple[float, float, float], steps: int, eps: float) -> Tensor:
    """Bring the singular values of matrix ``x`` near 1: x <- a x + (b A + c A A) x with A = x x', in bfloat16.

    torch sums the products in float32 and rounds each of the three lines once, so the values are kept in float32 here.
    """
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = x.size(0) > x.size(1)
    y = x.bfloat16()
    if tall:
        y = y.T
    y = (y / y.norm().clamp(min=eps)).float()  # spectral norm at most 1
    for _ in range(steps):
        gram = _rounded(y @ y.T)
        update = _rounded(b * gram + c * (gram @ gram))
        y = _rounded(a * y + update @ y)
    return y.T if tall else y


def _rounded(x: Tensor) -> Tensor:
    return x.bfloat16().float()
