"""Adam: steps scaled by running averages of the gradient and of its square."""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

from .algorithm import (
    Algorithm,
    as_real,
    check_betas,
    check_lr,
    check_nonnegative,
    is_recorded,
    number,
    options_of,
    scalar,
    to_scalar,
)
from .optimizer import ParamsT

__all__ = ["Adam"]


class Adam(Algorithm):
    """Adam.

        g = grad + weight_decay * p                   (-grad if `maximize`)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g ** 2
        p = p - lr * (m / (1 - beta1 ** t)) / (sqrt(v / (1 - beta2 ** t)) + eps)

    `amsgrad` divides by the largest v so far. `decoupled_weight_decay` shrinks p by 1 - lr * weight_decay instead
    of adding to the gradient, which is AdamW. `lr` and both `betas` may be one-element tensors; with
    `differentiable=True` the step is recorded. `foreach` and `fused` give the same results as neither;
    `capturable` needs a device with graphs and raises AssertionError at the first step on the CPU.

    Sources: Kingma and Ba, Adam: A Method for Stochastic Optimization, 2014; Reddi et al., On the Convergence of Adam
    and Beyond, 2018.

    Shape: parameters (*) -> the same, in place; state exp_avg, exp_avg_sq and, with amsgrad, max_exp_avg_sq (*), step
        ()
    Raises:
        ValueError: `lr`, `eps` or `weight_decay` is negative, as in `Adam([ones(1)], lr=-1.0)`.
        ValueError: a beta is outside [0, 1), as in `Adam([ones(1)], betas=(0.9, 1.0))`.

    >>> import rushlight as rl
    >>> w = rl.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = Adam([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.5000, 1.5000], requires_grad=True)
    """

    _refuses_sparse = "Adam does not support sparse gradients, please consider SparseAdam instead"

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor):
            _refuse_tensor_with_foreach("lr", foreach, capturable)
        check_lr(lr)
        check_nonnegative(epsilon=eps)
        check_betas(betas)
        check_nonnegative(weight_decay=weight_decay)
        _check_tensor_betas(betas, foreach, capturable)
        betas = (to_scalar(betas[0]), to_scalar(betas[1]))
        super().__init__(
            params,
            options_of(
                locals(),
                "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused decoupled_weight_decay",
            ),
        )
        self._check_fused_options(fused, foreach, differentiable)

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state = {"step": scalar(0.0, group), "exp_avg": ops.zeros_like(p), "exp_avg_sq": ops.zeros_like(p)}
        if group["amsgrad"]:
            state["max_exp_avg_sq"] = ops.zeros_like(p)
        return state

    def _check_flags(self, group: dict[str, Any], params: list[Tensor]) -> None:
        if isinstance(group["lr"], Tensor):
            _refuse_tensor_with_foreach("lr", group["foreach"], group["capturable"], RuntimeError)
        super()._check_flags(group, params)
        if group["differentiable"] and any(self.state[p]["step"].requires_grad for p in params):
            raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")

    def _unused(self, group: dict[str, Any]) -> tuple[str, ...]:
        return () if group["amsgrad"] else ("max_exp_avg_sq",)

    @staticmethod
    def _rule(
        param, grad, exp_avg, exp_avg_sq, max_exp_avg_sq, step, *,
        lr, beta1, beta2, eps, weight_decay, decoupled_weight_decay, maximize, differentiable,
    ):  # fmt: skip
        grad = -grad if maximize else grad
        step += 1
        if weight_decay != 0:
            if decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = _decayed(grad, param, weight_decay, differentiable)
        param, grad, exp_avg, exp_avg_sq = as_real(param, grad, exp_avg, exp_avg_sq)
        largest = None if max_exp_avg_sq is None else as_real(max_exp_avg_sq)[0]
        exp_avg.lerp_(grad, 1 - _of_type(beta1, param))
        if differentiable and is_recorded(beta2):
            _average_recorded(exp_avg_sq, grad, beta2)
        else:
            exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=number(1 - beta2))
        if differentiable:
            _move_recorded(param, exp_avg, exp_avg_sq, largest, step, lr=lr, beta1=beta1, beta2=beta2, eps=eps)
            return
        t = step.item()
        step_size = lr / (1 - beta1**t)
        bias_correction2_sqrt = (1 - beta2**t) ** 0.5
        if largest is not None:
            exp_avg_sq = largest.copy_(largest.maximum(exp_avg_sq))
        denom = exp_avg_sq.sqrt().div_(bias_correction2_sqrt).add_(eps)
        param.addcdiv_(exp_avg, denom, value=-number(step_size))


def _refuse_tensor_with_foreach(name: str, foreach: bool | None, capturable: bool, error: type = ValueError) -> None:
    if foreach and not capturable:
        raise error(f"{name} as a Tensor is not supported for capturable=False and foreach=True")


def _check_tensor_betas(betas: tuple, foreach: bool | None, capturable: bool) -> None:
    kinds = {Tensor if isinstance(beta, Tensor) else type(beta) for beta in betas}
    if kinds != {Tensor} and not all(isinstance(beta, float) for beta in betas):
        raise ValueError("betas must be either both floats or both Tensors")
    for i, beta in enumerate(betas):
        if isinstance(beta, Tensor):
            _refuse_tensor_with_foreach(f"betas[{i}]", foreach, capturable)
            if beta.numel() != 1:
                raise ValueError(f"Tensor betas[{i}] must be 1-element")


def _average_recorded(exp_avg_sq: Tensor, grad: Tensor, beta2: Tensor) -> None:
    exp_avg_sq.lerp_(ops.square(grad), 1 - beta2)  # addcmul's value cannot be a tensor


def _of_type(beta: float | Tensor, param: Any) -> Any:
    return beta.to(param.dtype) if isinstance(beta, Tensor) else beta


def _decayed(grad: Tensor, param: Tensor, weight_decay: float | Tensor, differentiable: bool) -> Tensor:
    if differentiable and is_recorded(weight_decay):
        return grad.addcmul_(param.clone(), weight_decay)
    return grad.add(param, alpha=number(weight_decay))


def _move_recorded(
    param: Tensor,
    exp_avg: Tensor,
    exp_avg_sq: Tensor,
    largest: Tensor | None,
    step: Tensor,
    *,
    lr: float | Tensor,
    beta1: float | Tensor,
    beta2: float | Tensor,
    eps: float,
) -> None:
    """The last lines of a differentiable step, in tensors throughout and with copies of what later steps write."""
    bias_correction1 = 1 - beta1 ** step.clone()
    bias_correction2 = 1 - beta2 ** step.clone()
    step_size_neg = (lr / bias_correction1).neg()
    if largest is not None:
        exp_avg_sq = largest.copy_(ops.maximum(largest.clone(), exp_avg_sq))
    denom = (exp_avg_sq.sqrt() / (bias_correction2.sqrt() * step_size_neg)).add_(eps / step_size_neg)
    param.addcdiv_(exp_avg.clone(), denom)
