"""Limits on the size of gradients."""

from __future__ import annotations

import types
import warnings
from collections.abc import Iterable

from rushlight import ops
from rushlight.core.dispatch.extension_points import training_observer
from rushlight.core.dispatch.mode import no_grad
from rushlight.core.tensor.tensor import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

# ``foreach`` chooses between two implementations in torch that give the same numbers; here one serves both.


def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all elements together: the norm of the tensors' norms.

    Args:
        norm_type: the order, possibly inf.
        error_if_nonfinite: whether to raise where the norm is infinite or nan.
        foreach: changes nothing here.
    Shape: (*), ... -> ()
    Raises:
        RuntimeError: the norm is infinite or nan, as in
            `get_total_norm([tensor([float("nan")])], error_if_nonfinite=True)`.

    >>> get_total_norm([tensor([3.0]), tensor([4.0])])
    tensor(5.)
    """
    listed = _as_list(tensors)
    norm_type = float(norm_type)
    with no_grad():
        if not listed:
            return ops.tensor(0.0)
        norms = [tensor.norm(norm_type) for tensor in listed]
        total = ops.stack(norms).norm(norm_type)
    if error_if_nonfinite and not ops.isfinite(total):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Multiply the gradients by max_norm / total_norm, in place, unless that is above 1.

    Args:
        parameters: a tensor or several; those without gradient do not count.
        total_norm: the norm of all gradients together, as `get_total_norm` gives it.
        foreach: changes nothing here.
    Shape: gradients (*), ..., total_norm () -> None, in place: (*), ...
    """
    listed = _as_list(parameters)
    grads = _grads(listed)
    observer = training_observer.value
    if observer is not None:
        observer.clipping(listed, "clip_grad_norm_", float(max_norm))
    if not grads:
        return
    with no_grad():
        factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
        for grad in grads:
            grad.mul_(factor)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients, in place, so that the norm of all together is at most `max_norm`; the norm before is returned.

    Args:
        parameters: a tensor or several; those without gradient do not count.
        norm_type: the order, possibly inf.
        error_if_nonfinite: raise RuntimeError where the norm is infinite or nan.
        foreach: changes nothing here.
    Shape: gradients (*), ... -> ()

    >>> w = tensor([3.0, 4.0], requires_grad=True)
    >>> (w * w / 2).sum().backward()
    >>> clip_grad_norm_([w], 1.0), w.grad
    (tensor(5.), tensor([0.6000, 0.8000]))
    """
    listed, max_norm = _as_list(parameters), float(max_norm)
    if not listed and isinstance(parameters, types.GeneratorType):
        warnings.warn("`parameters` is an empty generator, no gradient clipping will occur.", stacklevel=2)
    total = get_total_norm(_grads(listed), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(listed, max_norm, total, foreach)
    return total


def clip_grad_norm(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """`clip_grad_norm_` under its deprecated name."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None) -> None:
    """Clamp every element of the gradients to [-clip_value, clip_value], in place.

    Args:
        parameters: a tensor or several; those without gradient do not count.
        foreach: changes nothing here.
    Shape: gradients (*), ... -> None, in place: (*), ...

    >>> w = tensor([3.0, 0.5], requires_grad=True)
    >>> (w * w / 2).sum().backward()
    >>> clip_grad_value_([w], 1.0)
    >>> w.grad
    tensor([1.0000, 0.5000])
    """
    limit = float(clip_value)
    listed = _as_list(parameters)
    observer = training_observer.value
    if observer is not None:
        observer.clipping(listed, "clip_grad_value_", limit)
    with no_grad():
        for grad in _grads(listed):
            grad.clamp_(min=-limit, max=limit)


def _as_list(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    return [tensors] if isinstance(tensors, Tensor) else list(tensors)


def _grads(parameters: list[Tensor]) -> list[Tensor]:
    return [param.grad for param in parameters if param.grad is not None]
