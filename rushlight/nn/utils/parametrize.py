"""Parametrizations: a parameter computed by modules from others that are trained in its place.

`register_parametrization(module, "weight", P)` moves the parameter to `module.parametrizations.weight.original`; reading
`module.weight` then gives P(original), and writing it stores P's `right_inverse` of the value.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import contextmanager, suppress
from typing import Any

from rushlight.core.dispatch.mode import no_grad
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn.modules.container import ModuleDict, ModuleList
from rushlight.nn.modules.module import Module
from rushlight.nn.parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

_depth = 0  # how many `cached` contexts are open
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached():
    """A context in which each parametrized tensor is computed once."""
    global _depth
    _depth += 1
    try:
        yield
    finally:
        _depth -= 1
        if not _depth:
            _cache.clear()


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in order, with what they start from: `original`, or `original0`, ..."""

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        new: Any = original
        with no_grad():
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):
                        new = module.right_inverse(new)
        if not isinstance(new, Tensor) and not isinstance(new, Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got "
                f"{type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1
        if isinstance(new, Tensor):
            _check_same_dtype("When `right_inverse` outputs one tensor, it may not change the dtype.", original, new)
            _set(original, new)
            _register(self, "original", original)
        else:
            self.ntensors = len(new)
            self._register_several(original, new)
        if not unsafe:
            self._check(shape, dtype)

    def _register_several(self, original: Tensor, new: Sequence[Any]) -> None:
        for i, part in enumerate(new):
            if not isinstance(part, Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                    f"{i} of the sequence with type {type(part).__name__}."
                )
            part = Parameter(part, original.requires_grad) if isinstance(original, Parameter) else part
            _register(self, f"original{i}", part.requires_grad_(original.requires_grad))

    def _check(self, shape: Any, dtype: Any) -> None:
        result = self()
        if not isinstance(result, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(result).__name__}.")
        for what, before, after in (("dtype", dtype, result.dtype), ("shape", shape, result.shape)):
            if before != after:
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is "
                    f"enabled.\nunparametrized {what}: {before}\nparametrized {what}: {after}"
                )

    def right_inverse(self, value: Any) -> None:
        """Store what gives `value`, by the `right_inverse` of each parametrization."""
        with no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                _check_same_dtype("The tensor returned by `right_inverse` has another dtype.", self.original, value)
                _set(self.original, value)
                return
            if not isinstance(value, Sequence) or len(value) != self.ntensors:
                raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}.")
            for i, part in enumerate(value):
                _set(getattr(self, f"original{i}"), part)

    def forward(self) -> Tensor:
        first, *others = self
        originals = [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]
        x = first(*originals)
        for module in others:
            x = module(x)
        return x


def _check_same_dtype(what: str, a: Tensor, b: Tensor) -> None:
    if a.dtype != b.dtype:
        raise ValueError(f"{what}\noriginal.dtype: {a.dtype}\nright_inverse(original).dtype: {b.dtype}")


def _set(target: Tensor, value: Tensor) -> None:
    """Let `target` hold the values of `value`, which may have another shape."""
    if target is not value:
        with no_grad():
            target.data = value.detach().clone() if value._storage is target._storage else value.detach()


# ---------------------------------------------------------------------------------------------- modules with them


def _change_class(module: Module) -> None:
    """Give the module a class of its own, which can have properties."""
    cls = type(module)

    def refuse(self: Any) -> Any:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    def deepcopy(self: Module, memo: dict) -> Any:
        if id(self) not in memo:
            replica = memo[id(self)] = type(self).__new__(type(self))
            replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return memo[id(self)]

    root = Module.__module__.partition(".")[0]  # "torch" where programs import that
    members: dict[str, Any] = {"__getstate__": refuse, "__module__": f"{root}.{__name__.partition('.')[2]}"}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _add_property(module: Module, name: str) -> None:
    def get(self: Any) -> Tensor:
        parametrization = self.parametrizations[name]
        if not _depth:
            return parametrization()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def put(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, put))


def register_parametrization(module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    """Let `module.<tensor_name>` be `parametrization` of what it was, or of the parametrizations that it has already.

    unsafe: the parametrization may change shape and dtype; nothing is checked.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_next(module, tensor_name, parametrization)
        module.parametrizations[tensor_name].append(parametrization)
        module.parametrizations[tensor_name].unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        parametrizations = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _change_class(module)
            module.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    return module


def _check_next(module: Any, name: str, parametrization: Any) -> None:
    """Check that one more parametrization, and its right inverse, keep shape and dtype."""
    before = getattr(module, name)
    after = parametrization(before)
    checks = [(f"parametrization(module.{name})", after)]
    if isinstance(after, Tensor) and hasattr(parametrization, "right_inverse"):
        with suppress(NotImplementedError):
            inverse = parametrization.right_inverse(after)
            checks.append(("the tensor returned by parametrization.right_inverse", inverse))
    for what, t in checks:
        if not isinstance(t, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(t).__name__}.")
        if t.dtype != before.dtype or t.shape != before.shape:
            raise ValueError(
                "Registering a parametrization may not change the dtype or shape of the tensor, unless the `unsafe` flag is "
                f"enabled.\nmodule.{name}: {before.dtype}, {before.shape}\n{what}: {t.dtype}, {t.shape}"
            )


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether the module has parametrizations, or that tensor of it has."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Make the tensor an ordinary one again, with its computed value or (leave_parametrized=False) the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                value = getattr(module, tensor_name)
            _set(original, value)
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence "
            "of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Any) -> type:
    """The class that the module had before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module: Any, to_module: Any, tensor_name: str | None = None) -> Any:
    """Give `to_module` the parametrizations of `from_module` (all, or of one tensor) and the values below them."""
    if not is_parametrized(from_module):
        return to_module
    for name in [tensor_name] if tensor_name else list(from_module.parametrizations):
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, copy.deepcopy(getattr(from_module, name)))
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        if hasattr(source, "original"):
            target.original = source.original
        else:
            for i in range(source.ntensors):
                setattr(target, f"original{i}", getattr(source, f"original{i}"))
    return to_module
