"""`torch.distributed.fsdp.wrap`: which modules of a model get a unit of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ...nn.modules.attention import MultiheadAttention
from ...nn.modules.container import ModuleDict, ModuleList
from ...nn.modules.module import Module

__all__ = [
    "CustomPolicy",
    "ModuleWrapPolicy",
    "always_wrap_policy",
    "enable_wrap",
    "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy",
    "transformer_auto_wrap_policy",
    "wrap",
]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Every module."""
    return True


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Module], bool]
) -> bool:
    """The modules of which `lambda_fn` says so."""
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type[Module]]
) -> bool:
    """The modules of these classes."""
    return True if recurse else isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type[Module]] | None = None,
    exclude_wrap_modules: set[type[Module]] | None = None,
) -> bool:
    """The modules with so many parameters, besides those of modules in them that have been taken.

    force_leaf_modules: classes whose inner modules are not looked at. exclude_wrap_modules: those that are not taken.
    """
    leaves = size_based_auto_wrap_policy.FORCE_LEAF_MODULES if force_leaf_modules is None else force_leaf_modules  # type: ignore
    excluded = (
        size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES if exclude_wrap_modules is None else exclude_wrap_modules
    )  # type: ignore
    return nonwrapped_numel >= min_num_params and not isinstance(module, tuple(leaves if recurse else excluded))


size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = {ModuleList, ModuleDict}  # type: ignore[attr-defined]
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = {MultiheadAttention}  # type: ignore[attr-defined]


class ModuleWrapPolicy:
    """The modules of these classes."""

    def __init__(self, module_classes: Iterable[type[Module]]):
        self._module_classes = set(module_classes)
        self._module_classes_str = str(self._module_classes)

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return True if recurse else isinstance(module, tuple(self._module_classes))

    def __repr__(self) -> str:
        return super().__repr__() + f"({self._module_classes_str})"


class CustomPolicy:
    """The modules of which `lambda_fn` gives True, or a dict with options of their own."""

    def __init__(self, lambda_fn: Callable[[Module], bool | dict[str, Any]]):
        self._lambda_fn = lambda_fn

    def options(self, module: Module) -> dict[str, Any] | None:
        """The options of a module; None of one that is not taken. Raises ValueError for other answers."""
        found = self._lambda_fn(module)
        if not isinstance(found, (dict, bool)):
            raise ValueError(
                f"The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, but it returned {found}"
            )
        return (found if isinstance(found, dict) else {}) if found else None


class _Wrapping:
    """What `enable_wrap` says."""

    now: dict[str, Any] | None = None


@contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Within the context, `wrap(module)` is `wrapper_cls(module, **wrapper_kwargs)`."""
    if _Wrapping.now is not None:
        raise NotImplementedError(
            "You are already within an autowrap context and we currently do not supported nested autowrap."
        )
    _Wrapping.now = {"wrapper_cls": wrapper_cls, **wrapper_kwargs}
    try:
        yield
    finally:
        _Wrapping.now = None


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """The module, wrapped if within `enable_wrap`; the options given here count more."""
    if _Wrapping.now is None:
        return module
    options = {**_Wrapping.now, **wrap_overrides}
    return options.pop("wrapper_cls")(module, **options)


def wrap_inside(
    module: Module, policy: Any, wrapper: Callable[..., Module], ignored: set[Module], options: dict[str, Any]
) -> None:
    """Put wrappers around the modules in one that a policy takes, the inner ones first."""
    _wrap_children(module, policy, wrapper, ignored, options, set())


def _wrap_children(
    module: Module,
    policy: Any,
    wrapper: Callable[..., Module],
    ignored: set[Module],
    options: dict[str, Any],
    seen: set,
) -> int:
    """Returns how many elements of parameters have been taken."""
    taken = 0
    for name, child in list(module._modules.items()):
        if child is None or child in ignored or id(child) in seen:
            continue
        seen.add(id(child))
        own = sum(p.numel() for p in child.parameters())
        if isinstance(policy, CustomPolicy):
            taken += _wrap_children(child, policy, wrapper, ignored, options, seen)
            chosen = policy.options(child)
            if chosen is not None:
                setattr(module, name, wrapper(child, **{**options, **chosen}))
            continue
        inner = 0
        if policy(module=child, recurse=True, nonwrapped_numel=own):
            inner = _wrap_children(child, policy, wrapper, ignored, options, seen)
            if policy(module=child, recurse=False, nonwrapped_numel=own - inner):
                setattr(module, name, wrapper(child, **options))
                inner = own
        taken += inner
    return taken
