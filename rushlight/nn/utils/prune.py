"""Pruning: parameters multiplied by masks of zeros and ones.

A pruned parameter `name` becomes `name_orig` (trained) and the buffer `name_mask`; before each forward `name` is their
product. Pruning again goes on among what is left.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

from rushlight import ops
from rushlight.core.tensor.tensor import Tensor

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class BasePruningMethod:
    """A way to choose masks. A subclass writes `compute_mask(t, default_mask)` and says its PRUNING_TYPE."""

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """The mask for `t`: `default_mask`, and more zeros."""
        raise NotImplementedError

    def apply_mask(self, module: Any) -> Any:
        """The parameter times its mask."""
        name = self._tensor_name
        mask, original = getattr(module, name + "_mask"), getattr(module, name + "_orig")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(cls, module: Any, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any) -> Any:
        """Prune the parameter `name` of the module from now on, by this method or it and those already there."""
        hooks = [(k, h) for k, h in module._forward_pre_hooks.items() if _prunes(h, name)]
        if len(hooks) > 1:
            raise AssertionError(f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a "
                                 "PruningContainer.")  # fmt: skip
        method: Any = cls(*args, **kwargs)
        method._tensor_name = name
        if hooks:
            key, old = hooks[0]
            del module._forward_pre_hooks[key]
            container = old if isinstance(old, PruningContainer) else PruningContainer(old)
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name)
        if importance_scores is not None and importance_scores.shape != original.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}")
        scores = original if importance_scores is None else importance_scores
        if not hooks:
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            default_mask = ops.ones_like(original)
        else:
            default_mask = getattr(module, name + "_mask").detach().clone()
        try:
            mask = method.compute_mask(scores, default_mask)
        except Exception:
            if not hooks:  # the parameter is as before
                module.register_parameter(name, original)
                del module._parameters[name + "_orig"]
            raise
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Any, default_mask: Any = None, importance_scores: Any = None) -> Any:
        """`t` times its mask."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        return t * self.compute_mask(scores, ops.ones_like(t) if default_mask is None else default_mask)

    def remove(self, module: Any) -> None:
        """Make the pruned values the parameter; the hook is the caller's to take away."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _prunes(hook: Any, name: str) -> bool:
    return isinstance(hook, BasePruningMethod) and hook._tensor_name == name


class PruningContainer(BasePruningMethod):
    """Several pruning methods of one parameter, one after the other."""

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple = ()
        methods: Any = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        if methods:
            self._tensor_name = methods[0]._tensor_name
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: Any) -> None:
        """Add one more. Raises TypeError for what is no pruning method, ValueError for another parameter's."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, index: Any) -> Any:
        return self._pruning_methods[index]

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        """`default_mask`, and the zeros that the last method chooses among what it leaves."""
        method, mask = self._pruning_methods[-1], default_mask.to(t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            left: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            others = [d for d in range(t.dim()) if d != method.dim % t.dim()]
            kept = mask.sum(others) != 0
            left = (slice(None),) * (method.dim % t.dim()) + (kept,)
        elif method.PRUNING_TYPE == "global":
            left = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        partial = method.compute_mask(t[left], default_mask=mask[left])
        result = mask.clone()
        result[left] = partial.to(mask.dtype)
        return result


# ---------------------------------------------------------------------------------------------- methods


def _check_amount(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if (isinstance(amount, numbers.Integral) and amount < 0) or (
        not isinstance(amount, numbers.Integral) and not 0.0 <= float(amount) <= 1.0
    ):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _count(amount: Any, size: int) -> int:
    """How many of `size` elements to prune."""
    if not isinstance(amount, numbers.Integral):
        return round(amount * size)
    if int(amount) > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return int(amount)


class Identity(BasePruningMethod):
    """Prunes nothing."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        return default_mask


class _Amount(BasePruningMethod):
    def __init__(self, amount: Any) -> None:
        _check_amount(amount)
        self.amount = amount


class RandomUnstructured(_Amount):
    """Elements at random."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        n, mask = _count(self.amount, t.nelement()), default_mask.clone()
        if n:
            mask.view(-1)[ops.rand_like(t).view(-1).topk(n).indices] = 0
        return mask


class L1Unstructured(_Amount):
    """The elements of the smallest absolute value."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        n, mask = _count(self.amount, t.nelement()), default_mask.clone()
        if n:
            mask.view(-1)[t.abs().view(-1).topk(n, largest=False).indices] = 0
        return mask


class _Channels(_Amount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _check(self, t: Any) -> None:
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.dim()} dims"
            )
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")

    def _mask(self, t: Any, keep: Any, default_mask: Any) -> Any:
        """default_mask where `keep` (one for each channel) is true."""
        shape = [1] * t.dim()
        shape[self.dim] = -1
        return default_mask * keep.to(default_mask.dtype).reshape(shape)


class RandomStructured(_Channels):
    """Channels along `dim` at random."""

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        self._check(t)
        size = t.shape[self.dim]
        n = _count(self.amount, size)
        if not n:
            return default_mask
        draws = ops.rand(size)
        return self._mask(t, draws > draws.kthvalue(n).values, default_mask)


class LnStructured(_Channels):
    """The channels along `dim` of the smallest n-norm."""

    def __init__(self, amount: Any, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        self._check(t)
        size = t.shape[self.dim]
        n = _count(self.amount, size)
        if not n:
            return default_mask
        others = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        best = ops.norm(t, self.n, others).topk(size - n).indices
        keep = ops.zeros(size, dtype=t.dtype)
        keep[best] = 1
        return self._mask(t, keep, default_mask)


class CustomFromMask(BasePruningMethod):
    """A mask that is given."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Any) -> None:
        self.mask = mask

    def compute_mask(self, t: Any, default_mask: Any) -> Any:
        if default_mask.shape != self.mask.shape:
            raise AssertionError("mask and default_mask must have the same shape")
        return default_mask * self.mask.to(default_mask.dtype)


# ---------------------------------------------------------------------------------------------- functions


def identity(module: Any, name: str) -> Any:
    """Make the parameter a pruned one of which nothing is pruned."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: Any) -> Any:
    """Prune `amount` (a number or a share) of the elements at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Any, name: str, amount: Any, importance_scores: Any = None) -> Any:
    """Prune `amount` of the elements, those of the smallest absolute value (or score)."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: Any, dim: int) -> Any:
    """Prune `amount` of the channels along `dim` at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module: Any, name: str, amount: Any, n: Any, dim: int, importance_scores: Any = None) -> Any:
    """Prune `amount` of the channels along `dim`, those of the smallest n-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Any) -> Any:
    """Prune where `mask` is zero."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any) -> None:
    """Prune the elements of several (module, name) together, as if they were one tensor."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    pairs = list(parameters)
    scores = importance_scores or {}
    flat = [scores.get((m, n), getattr(m, n)).reshape(-1) for m, n in pairs]
    masks = [getattr(m, n + "_mask", ops.ones_like(getattr(m, n))).reshape(-1) for m, n in pairs]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type '
            f"{method.PRUNING_TYPE}"
        )
    final, start = container.compute_mask(ops.cat(flat), ops.cat(masks)), 0
    for m, n in pairs:
        like: Tensor = getattr(m, n)
        custom_from_mask(m, n, final[start : start + like.numel()].view_as(like))
        start += like.numel()


def remove(module: Any, name: str) -> Any:
    """End the pruning of a parameter: its pruned values become the parameter."""
    for key, hook in module._forward_pre_hooks.items():
        if _prunes(hook, name):
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Any) -> bool:
    """Whether a parameter of the module or of one below it is pruned."""
    return any(isinstance(h, BasePruningMethod) for m in module.modules() for h in m._forward_pre_hooks.values())
