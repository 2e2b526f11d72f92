"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

from .algorithm import Algorithm, as_real, check_betas, check_lr, check_nonnegative, number, options_of, scalar
from .optimizer import ParamsT

__all__ = ["NAdam"]


class NAdam(Algorithm):
    """NAdam.

        g = grad + weight_decay * p                      (-grad if `maximize`)
        mu_t = beta1 * (1 - 0.96 ** (t * momentum_decay) / 2)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g ** 2
        n = mu_{t+1} * m / (1 - mu_1 ... mu_{t+1}) + (1 - mu_t) * g / (1 - mu_1 ... mu_t)
        p = p - lr * n / (sqrt(v / (1 - beta2 ** t)) + eps)

    `decoupled_weight_decay` shrinks p by 1 - lr * weight_decay instead of adding to the gradient.

    Source: Dozat, Incorporating Nesterov Momentum into Adam, 2016.

    Shape: parameters (*) -> the same, in place; state exp_avg and exp_avg_sq (*), step and mu_product ()
    Raises:
        ValueError: `lr`, `eps`, `weight_decay` or `momentum_decay` is negative, as in `NAdam([ones(1)], lr=-1.0)`.
        ValueError: a beta is outside [0, 1), as in `NAdam([ones(1)], betas=(0.9, 1.0))`.

    >>> w = tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = NAdam([w], lr=0.5)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w.detach().round(decimals=2)
    tensor([0.4700, 1.4700])
    """

    _counters = ("step", "mu_product")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_nonnegative(epsilon=eps)
        check_betas(betas)
        check_nonnegative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        super().__init__(
            params,
            options_of(
                locals(),
                "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach capturable differentiable",
            ),
        )

    def _new_state(self, p: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": scalar(0.0, group),
            "mu_product": scalar(1.0, group),
            "exp_avg": ops.zeros_like(p),
            "exp_avg_sq": ops.zeros_like(p),
        }

    @staticmethod
    def _rule(
        param, grad, exp_avg, exp_avg_sq, mu_product, step, *,
        lr, beta1, beta2, eps, weight_decay, momentum_decay, decoupled_weight_decay, maximize, differentiable,
    ):  # fmt: skip
        grad = -grad if maximize else grad
        param, grad, exp_avg, exp_avg_sq = as_real(param, grad, exp_avg, exp_avg_sq)
        step += 1
        t = step.item()
        if weight_decay != 0:
            if decoupled_weight_decay:
                param.mul_(1 - lr * weight_decay)
            else:
                grad = grad.add(param, alpha=weight_decay)
        mu = beta1 * (1.0 - 0.5 * (0.96 ** (t * momentum_decay)))
        mu_next = beta1 * (1.0 - 0.5 * (0.96 ** ((t + 1) * momentum_decay)))
        mu_product *= mu
        exp_avg.lerp_(grad, 1 - beta1)
        exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        denom = exp_avg_sq.div(1 - beta2**t).sqrt()
        if differentiable:
            denom = denom.add(eps)
            mu_product_next = mu_product * mu_next
            param.addcdiv_(grad * (-lr * (1.0 - mu) / (1.0 - mu_product)), denom)
            param.addcdiv_(exp_avg * (-lr * mu_next / (1.0 - mu_product_next)), denom)
        else:
            denom.add_(eps)
            product = mu_product.item()
            param.addcdiv_(grad, denom, value=number(-lr * (1.0 - mu) / (1.0 - product)))
            param.addcdiv_(exp_avg, denom, value=number((-lr * mu_next) / (1.0 - product * mu_next)))
