"""The state of a module tree as a flat dictionary, out and in."""

from __future__ import annotations

import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Mapping
from typing import Any

from rushlight.core.dispatch.mode import no_grad
from rushlight.core.tensor.hooks import RemovableHandle
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn.parameter import Parameter

from .conversion import conversion, swap_content
from .hooks import WrappedHook, register_hook

__all__ = ["Stateful"]

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class Stateful:
    """The part of `Module` that saves and loads state dictionaries."""

    _version: int = 1
    _parameters: dict[str, Parameter | None]
    _buffers: dict[str, Tensor | None]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: OrderedDict[int, Callable]
    _state_dict_pre_hooks: OrderedDict[int, Callable]
    _load_state_dict_pre_hooks: OrderedDict[int, Callable]
    _load_state_dict_post_hooks: OrderedDict[int, Callable]

    # Saving -----------------------------------------------------------------------------------------------------------

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> OrderedDict[str, Any]:
        """Every parameter and persistent buffer of this module and its submodules, by dotted name.

        The tensors share the module's memory. ``destination``: a dictionary to fill instead of a new one. ``prefix``:
        put before every name. ``keep_vars``: hand out the parameters themselves, not detached aliases.

        The result's ``_metadata`` holds each module's ``_version``.
        """
        if args:
            warnings.warn(
                "Positional args are being deprecated, use kwargs instead. Refer to "
                "https://pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.state_dict for details.",
                FutureWarning,
                stacklevel=2,
            )
            given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
            destination = given.get("destination") if destination is None else destination
            prefix = prefix or given.get("prefix", "")
            keep_vars = keep_vars or given.get("keep_vars", False)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
        return self._run_state_dict_hooks(destination, prefix, metadata)

    def _run_state_dict_hooks(self, destination: Any, prefix: str, metadata: dict[str, Any]) -> Any:
        for hook in self._state_dict_hooks.values():
            replaced = hook(self, destination, prefix, metadata)
            if replaced is None:
                continue
            if getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = replaced
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put this module's own entries, not its submodules', into the destination."""
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if _overrides(self, "get_extra_state"):
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def _own_state(self) -> dict[str, Tensor]:
        state: dict[str, Tensor] = {name: param for name, param in self._parameters.items() if param is not None}
        transient = self._non_persistent_buffers_set
        state.update((name, b) for name, b in self._buffers.items() if b is not None and name not in transient)
        return state

    def get_extra_state(self) -> Any:
        """Further state for the state dictionary, under the key ``_extra_state``; override with `set_extra_state`."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called: override it together with "
            "set_extra_state()."
        )

    def set_extra_state(self, state: Any) -> None:
        """Take in what `get_extra_state` gave; override both."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called: override it together with "
            "get_extra_state()."
        )

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, prefix, keep_vars)`` before `state_dict` collects this module's entries."""
        return register_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, state_dict, prefix, local_metadata)``, which may change the dictionary in place."""
        hook._from_public_api = True
        return register_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """As `register_state_dict_post_hook`, but a returned dictionary replaces the state dictionary."""
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return register_hook(self._state_dict_hooks, hook)

    # Loading ----------------------------------------------------------------------------------------------------------

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy a state dictionary into this module and its submodules.

        ``strict``: missing or unexpected keys raise. ``assign``: adopt the dictionary's tensors, no copies.
        Shapes must agree in any case. Errors are collected and raised as one RuntimeError.

        Returns the missing and the unexpected keys as a named tuple.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        entries: Any = OrderedDict(state_dict)
        if metadata is not None:
            entries._metadata = metadata
        loading = _Loading(metadata, assign)
        loading.load(self, entries, "")
        loading.finish(type(self).__name__, strict)
        return loading.keys

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own entries, not its submodules'. Override to read older versions (`local_metadata`).

        Appends to the three lists instead of raising.
        """
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = self._own_state()
        for name, tensor in own.items():
            key = prefix + name
            if key in state_dict:
                problem = _load_entry(self, name, tensor, key, state_dict[key], assign)
                if problem:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        self._load_extra_state(state_dict, prefix, strict, missing_keys, unexpected_keys)
        if strict:
            unexpected_keys.extend(_unexpected(state_dict, prefix, own, self._modules))

    def _load_extra_state(
        self, state_dict: dict[str, Any], prefix: str, strict: bool, missing_keys: list[str], unexpected_keys: list[str]
    ) -> None:
        key = prefix + _EXTRA_STATE_KEY_SUFFIX
        if _overrides(self, "set_extra_state"):
            if key in state_dict:
                self.set_extra_state(state_dict[key])
            elif strict:
                missing_keys.append(key)
        elif strict and key in state_dict:
            unexpected_keys.append(key)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, *arguments of _load_from_state_dict)`` before this module's entries are loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return register_hook(self._load_state_dict_pre_hooks, WrappedHook(hook, self if with_module else None))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call ``hook(module, incompatible_keys)`` after this module is loaded; it may change the lists in place."""
        return register_hook(self._load_state_dict_post_hooks, hook)


class _Loading:
    """One `load_state_dict` under way: what to load with, and the problems found so far."""

    def __init__(self, metadata: Any, assign: bool) -> None:
        self.metadata = metadata
        self.assign = assign
        self.keys = _IncompatibleKeys([], [])
        self.errors: list[str] = []

    def load(self, module: Any, entries: dict[str, Any], prefix: str) -> None:
        """Load the module, then its submodules, each with the entries under its own name."""
        local = {} if self.metadata is None else self.metadata.get(prefix[:-1], {})
        if self.assign:
            local["assign_to_params_buffers"] = True
        module._load_from_state_dict(entries, prefix, local, True, *self.keys, self.errors)
        for name, child in module._modules.items():
            if child is not None:
                below = prefix + name + "."
                self.load(child, {key: value for key, value in entries.items() if key.startswith(below)}, below)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, self.keys) is not None:
                raise AssertionError(
                    "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                    "values, if incompatible_keys need to be modified, it should be done inplace."
                )

    def finish(self, name: str, strict: bool) -> None:
        """Raise one error for all problems."""
        if strict:
            for kind, keys in (("Unexpected", self.keys.unexpected_keys), ("Missing", self.keys.missing_keys)):
                if keys:
                    listed = ", ".join(f'"{key}"' for key in keys)
                    self.errors.insert(0, f"{kind} key(s) in state_dict: {listed}. ")
        if self.errors:
            raise RuntimeError("Error(s) in loading state_dict for {}:\n\t{}".format(name, "\n\t".join(self.errors)))


def _overrides(module: Any, method: str) -> bool:
    return getattr(type(module), method) is not getattr(Stateful, method)


def _load_entry(module: Any, name: str, current: Tensor, key: str, value: Any, assign: bool) -> str | None:
    """Copy or assign one tensor; a description of the problem if that fails."""
    if not isinstance(value, Tensor):
        return (
            f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint '
            f"but received {type(value)}"
        )
    if current.dim() == 0 and value.dim() == 1 and value.shape[0] == 1:
        value = value[0]  # scalars were once saved with one element
    if value.shape != current.shape:
        return (
            f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the shape in current "
            f"model is {current.shape}."
        )
    if current.is_meta and not value.is_meta and not assign:
        warnings.warn(
            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in the current model, which is a "
            "no-op. (Did you mean to pass `assign=True` to assign items in the state dictionary to their corresponding key in "
            "the module instead of copying them in place?)",
            stacklevel=2,
        )
    try:
        with no_grad():
            if conversion.swaps:
                _swap_in(key, current, value, assign)
            elif assign:
                setattr(module, name, _as_parameter_like(current, value))
            else:
                current.copy_(value)
    except Exception as error:
        return (
            f'While copying the parameter named "{key}", whose dimensions in the model are {current.size()} and whose '
            f"dimensions in the checkpoint are {value.size()}, an exception occurred : {error.args}."
        )
    return None


def _swap_in(key: str, current: Tensor, value: Tensor, assign: bool) -> None:
    new = current.module_load(value, assign)  # type: ignore[attr-defined]
    if new is value or new is current:
        which = "input_param" if new is value else "self"
        raise RuntimeError(
            f"module_load returned one of self or other, please .detach() the result if returning {which}"
        )
    swap_content(key, current, new)


def _as_parameter_like(current: Tensor, value: Tensor) -> Tensor:
    """The value, as a parameter with the current one's requires_grad if that is a parameter."""
    if not isinstance(current, Parameter):
        return value
    if isinstance(value, Parameter):
        return value.requires_grad_(current.requires_grad)
    return Parameter(value, requires_grad=current.requires_grad)


def _unexpected(state_dict: dict[str, Any], prefix: str, own: dict[str, Any], modules: dict[str, Any]) -> list[str]:
    found = []
    for key in state_dict:
        if not key.startswith(prefix) or key == prefix + _EXTRA_STATE_KEY_SUFFIX:
            continue
        name, dot, _ = key[len(prefix) :].partition(".")
        if name not in (modules if dot else own):
            found.append(key)
    return found
