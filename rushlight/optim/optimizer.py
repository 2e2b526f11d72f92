"""The base of every optimizer: parameter groups, per-parameter state, checkpoints, hooks and the step's grad mode."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias, TypeVar, cast

from rushlight.core.dispatch.extension_points import hook_tables, profiled_block, training_observer
from rushlight.core.dispatch.mode import set_grad_enabled, thread
from rushlight.core.tensor.dtype import float32
from rushlight.core.tensor.hooks import RemovableHandle
from rushlight.core.tensor.legacy_types import typename
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn.modules.hooks import register_hook
from rushlight.nn.parameter import reset_grads

from ._torch_internals import (  # noqa: F401  torch has them in this module
    _capturable_doc,
    _default_to_fused_or_foreach,
    _device_dtype_check_for_fused,
    _differentiable_doc,
    _disable_dynamo_if_unsupported,
    _foreach_doc,
    _fused_doc,
    _get_capturable_supported_devices,
    _get_foreach_kernels_supported_devices,
    _get_fused_kernels_supported_devices,
    _get_value,
    _maximize_doc,
    _params_doc,
    _stack_if_compiling,
    _to_scalar,
    _view_as_real,
)

_PreHook: TypeAlias = Callable[["Optimizer", tuple, dict], "tuple[tuple, dict] | None"]
_PostHook: TypeAlias = Callable[["Optimizer", tuple, dict], None]
ParamsT: TypeAlias = Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]]

__all__ = ["Optimizer", "ParamsT", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook", "required"]

_global_optimizer_pre_hooks: OrderedDict[int, Callable] = OrderedDict()
_global_optimizer_post_hooks: OrderedDict[int, Callable] = OrderedDict()
hook_tables.register(_global_optimizer_pre_hooks, _global_optimizer_post_hooks)


class _RequiredParameter:
    """The default of an option that every parameter group must give itself."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()


def register_optimizer_step_pre_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before the step of every optimizer.

    The hook returns None, or the pair (args, kwargs) that the step should get instead.
    """
    return register_hook(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after the step of every optimizer."""
    return register_hook(_global_optimizer_post_hooks, hook)


_Step = TypeVar("_Step", bound=Callable)


def _use_grad_for_differentiable(step: _Step) -> _Step:
    """Run ``step`` without recording, or recording if the optimizer was made with ``differentiable=True``."""

    @functools.wraps(step)
    def with_grad_mode(self, *args, **kwargs):
        state, mode = thread.state, self.defaults.get("differentiable", False)
        before = state.recording()
        if mode is not True and mode is not False:
            set_grad_enabled(mode)  # which raises
        try:
            state.set(mode, state.inference)
            return step(self, *args, **kwargs)
        finally:
            state.grad, state.inference, state.level = before
            state.refresh()

    return cast("_Step", with_grad_mode)


class Optimizer:
    """Base class of all optimizers.

    `params`: an iterable of tensors, of (name, tensor) pairs, or of dicts, each a parameter group with its own
    options besides the key `"params"`. The order must be the same in every run, so a group that is a set is refused.
    `defaults`: the options of groups that do not give them.

    Attributes: `param_groups` (list of dicts), `state` (parameter -> dict of that parameter's state), `defaults`.

    Shape: parameters (*) -> the same, in place, by the subclass
    Raises:
        TypeError: `params` is a bare tensor, as in `Optimizer(ones(1), {})`.
        TypeError: a group is a set, as in `Optimizer([{"params": {ones(1)}}], {})`.
        ValueError: `params` is empty, as in `Optimizer([], {})`.
        ValueError: a tensor is neither a leaf nor retains its gradient, as in
            `Optimizer([ones(1, requires_grad=True) * 2], {})`.

    >>> Optimizer([ones(2)], {"lr": 0.1})
    Optimizer (
    Parameter Group 0
        lr: 0.1
    )
    """

    OptimizerPreHook: TypeAlias = _PreHook
    OptimizerPostHook: TypeAlias = _PostHook

    _optimizer_step_pre_hooks: OrderedDict[int, Callable]
    _optimizer_step_post_hooks: OrderedDict[int, Callable]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Callable]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Callable]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Callable]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Callable]
    _opt_called: bool  # of an optimizer with a scheduler: whether `step` has run

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        for name in _HOOKS:
            setattr(self, name, OrderedDict())
        self._patch_step_function()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + typename(params)
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        param_groups: list[Any] = list(params)
        if not param_groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(param_groups[0], dict):
            param_groups = [{"params": param_groups}]
        for param_group in param_groups:
            self.add_param_group(param_group)
        observer = training_observer.value
        if observer is not None:
            observer.optimizer_made(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"\nParameter Group {i}" if i else "Parameter Group 0")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join(lines) + "\n)"

    # ---------------------------------------------------------------------------------------------- the two verbs

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once. ``closure`` re-evaluates the model and returns the loss, which step returns."""
        raise NotImplementedError

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or with ``set_to_none=False`` fill them with zeros in place.

        A step skips a parameter whose gradient is None; with a gradient of zeros, momentum and weight decay still act.
        """
        if (block := profiled_block.value) is not None:
            with block(f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"):
                self._reset_grads(set_to_none)
        else:
            self._reset_grads(set_to_none)

    def _reset_grads(self, set_to_none: bool) -> None:
        for group in self.param_groups:
            reset_grads(group["params"], set_to_none)

    # -------------------------------------------------------------------------------------------- parameter groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters, a dict with ``"params"`` and the options in which it departs from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _list_params(param_group)
        for param in param_group["params"]:
            self._check_param(param)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        params = param_group["params"]
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        self._check_against_groups(param_group)
        self.param_groups.append(param_group)

    def _check_param(self, param: Any) -> None:
        if not isinstance(param, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(param)}")
        if not self.defaults.get("differentiable", None) and not (param.is_leaf or param.retains_grad):
            error = ValueError("can't optimize a non-leaf Tensor")
            if (observer := training_observer.value) is not None:
                observer.refused(param, error)
            raise error

    def _check_against_groups(self, param_group: dict[str, Any]) -> None:
        named = "param_names" in param_group
        for group in self.param_groups:
            if named != ("param_names" in group):
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{'with names' if named else 'without names'} to the optimizer"
                )
        known = set(chain.from_iterable(group["params"] for group in self.param_groups))
        if not known.isdisjoint(param_group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")

    # -------------------------------------------------------------------------------------------------- checkpoints

    def state_dict(self) -> dict[str, Any]:
        """Return ``{"state": ..., "param_groups": ...}`` in which indices represent the parameters.

        Indices count through the groups in order. Tensors are those of the optimizer, not copies.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        index: dict[int, int] = {}
        packed_groups = []
        start = 0
        for group in self.param_groups:
            index = {
                id(p): i for i, p in enumerate(group["params"], start)
            } | index  # of one given twice the last counts
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [index[id(p)] for p in group["params"]]
            packed_groups.append(packed)
            start += len(packed["params"])
        packed_state = {(index[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()}
        state_dict = {"state": packed_state, "param_groups": packed_groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        return state_dict

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a dict from :meth:`state_dict`: options, and state cast to each parameter's dtype and device.

        Parameters are matched by position, names are not looked at. The entry ``"step"`` keeps its dtype. Tensors that
        already have the right dtype are shared with ``state_dict``, as in torch; deepcopy it where that matters.
        Make learning-rate schedulers before the call: their construction overwrites the learning rates.

        Raises ValueError if the number of groups, or of parameters in one of them, differs.
        """
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        groups, saved_groups = self.param_groups, deepcopy(state_dict["param_groups"])
        _check_same_shape(groups, saved_groups)
        params = dict(
            zip(
                chain.from_iterable(group["params"] for group in saved_groups),
                chain.from_iterable(group["params"] for group in groups),
                strict=True,
            )
        )
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = _cast(value, params[key], key, state_dict["param_groups"])
            else:
                state[key] = value
        for group, saved in zip(groups, saved_groups, strict=True):
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved_groups})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    @staticmethod
    def _process_value_according_to_param_policy(
        param: Tensor, value: Tensor, param_id: int, param_groups: list[dict[Any, Any]], key: Hashable = None
    ) -> Tensor:
        """``value`` as the state of ``param``: in its dtype, but for the step counter, which keeps its own."""
        if param_groups is None:
            raise AssertionError("Expected param_groups to be set")
        if key == "step":
            group = next((g for g in param_groups if param_id in g["params"]), {})
            if group.get("capturable", False) or group.get("fused", False):
                return value.to(dtype=float32, device=param.device)
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    # -------------------------------------------------------------------------------------------------------- hooks

    def register_step_pre_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` before each step; it returns None or the new (args, kwargs)."""
        return register_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable) -> RemovableHandle:
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return register_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` before :meth:`state_dict` collects; ``prepend`` puts it before the others."""
        return register_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on the result of :meth:`state_dict`; it may return another dict."""
        return register_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` on a shallow copy before loading; it may return another dict."""
        return register_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable, prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer)`` after :meth:`load_state_dict`."""
        return register_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    @staticmethod
    def profile_hook_step(func: Callable) -> Callable:
        """Wrap a ``step`` method so that it calls the step hooks: global ones outside, the instance's inside."""

        def observed(self, args, kwargs):
            observer = training_observer.value
            context = None if observer is None else observer.step(self, args[1:], kwargs)
            if context is None:
                return func(*args, **kwargs)
            with context:
                return func(*args, **kwargs)

        @functools.wraps(func)
        def wrapper(self, *args, **kwargs):
            if (block := profiled_block.value) is None:
                return with_hooks(self, args, kwargs)
            with block(f"Optimizer.step#{type(self).__name__}.step"):
                return with_hooks(self, args, kwargs)

        def with_hooks(self, args, kwargs):
            args = (self, *args)
            before, after = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
            if not (before or after or _global_optimizer_pre_hooks or _global_optimizer_post_hooks):
                return observed(self, args, kwargs)
            for hook in chain(_global_optimizer_pre_hooks.values(), before.values()):
                result = hook(self, args, kwargs)
                if result is None:
                    continue
                if not (isinstance(result, tuple) and len(result) == 2):
                    raise RuntimeError(
                        f"{func} must return None or a tuple of (new_args, new_kwargs), but got {result}."
                    )
                args, kwargs = result
            out = observed(self, args, kwargs)
            for hook in chain(after.values(), _global_optimizer_post_hooks.values()):
                hook(self, args, kwargs)
            return out

        return wrapper

    def _patch_step_function(self) -> None:
        """Give the class its hook-calling ``step`` once, so that subclasses write a plain method."""
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = self.profile_hook_step(cls.step)
            cls.step.hooked = True


_HOOKS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


def _list_params(param_group: dict[str, Any]) -> None:
    """Turn the group's ``"params"`` into a list of its own and move names, where given, into ``"param_names"``."""
    params = param_group["params"]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but "
            "the ordering of tensors in sets will change between runs. Please use a list instead."
        )
    entries = [params] if isinstance(params, Tensor) else list(params)
    names = [entry[0] for entry in entries if isinstance(entry, tuple)]
    param_group["params"] = [entry[1] if isinstance(entry, tuple) else entry for entry in entries]
    if names and len(names) != len(entries):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    if names:
        param_group["param_names"] = names


def _check_same_shape(groups: list[dict], saved_groups: list[dict]) -> None:
    if len(groups) != len(saved_groups):
        raise ValueError("loaded state dict has a different number of parameter groups")
    if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved_groups, strict=True)):
        raise ValueError(
            "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
        )


def _cast(value: Any, param: Tensor, param_id: int, param_groups: list[dict], key: Hashable = None) -> Any:
    """Rebuild a state entry with every tensor in it cast for ``param``."""
    if isinstance(value, Tensor):
        return Optimizer._process_value_according_to_param_policy(param, value, param_id, param_groups, key)
    if isinstance(value, dict):
        return {k: _cast(v, param, param_id, param_groups, k) for k, v in value.items()}
    if isinstance(value, Iterable):
        kind: Any = type(value)
        return kind(_cast(v, param, param_id, param_groups) for v in value)
    return value
