"""Module: a callable that owns parameters, buffers and other modules."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, Self, TypeVar

from rushlight.core.dispatch.extension_points import (
    module_caller,
    module_class,
    module_evaluated,
    module_programs,
    training_observer,
)
from rushlight.core.dispatch.op import OPS
from rushlight.core.tensor.legacy_types import typename
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn.parameter import Buffer, Parameter, reset_grads

from ._error_place import note_module
from .conversion import Convertible
from .hooks import (
    Hookable,
    _global_buffer_registration_hooks,
    _global_module_registration_hooks,
    _global_parameter_registration_hooks,
    call_with_hooks,
    global_hook_registered,
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from .state import _EXTRA_STATE_KEY_SUFFIX, Stateful, _IncompatibleKeys
from .tree import Tree

__all__ = [
    "_EXTRA_STATE_KEY_SUFFIX",
    "Module",
    "_IncompatibleKeys",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]

_HOOK_TABLES = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


def _compiled() -> ModuleType:
    """What compiles modules, loaded with the first that is: it brings the compiler."""
    from . import compiled

    return compiled


def _is_own(kind: type) -> bool:
    return kind.__module__.startswith(f"{__package__}.")


def _forward_unimplemented(self: Module, *input: Any) -> None:
    """The computation of every call; each subclass defines its own.

    Call the module itself rather than this method: only the call runs the hooks.
    """
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Module(Hookable, Stateful, Convertible, Tree):
    """Base class of all layers and networks.

    A subclass assigns its parameters and submodules as attributes, after ``super().__init__()``, and defines
    ``forward``. Parameters, `Buffer`\\ s and modules that are assigned so are registered, in order of assignment.

    ``training``: what `train` and `eval` set, for layers that compute differently in training.

    >>> class Twice(Module):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> Twice()(21)
    42
    """

    dump_patches: bool = False
    T_destination = TypeVar("T_destination", bound=dict[str, Any])  # what `state_dict` fills, in annotations
    call_super_init: bool = False
    training: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init:
            self._refuse_arguments(args, kwargs)
        state = self.__dict__  # past __setattr__, which is for parameters, buffers and modules
        state["training"] = True
        state["_parameters"] = {}
        state["_buffers"] = {}
        state["_non_persistent_buffers_set"] = set()
        state["_is_full_backward_hook"] = None
        for table in _HOOK_TABLES:
            state[table] = OrderedDict()
        state["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def __init_subclass__(cls, **options: Any) -> None:
        """Let the errors of Rushlight's own layers name the layer and not the private base that has its `__init__`.

        An operator in the class (`activation = torch.tanh`) is not bound to its modules: torch's are no Python functions.
        """
        super().__init_subclass__(**options)
        for name, value in list(vars(cls).items()):
            if type(value) is FunctionType and OPS.get(value.__name__) is value:
                setattr(cls, name, staticmethod(value))
        if not _is_own(cls) or "__init__" in vars(cls) or cls.__name__[0] == "_":
            return
        init = cls.__init__
        if init.__qualname__[0] == "_":
            named = FunctionType(init.__code__, init.__globals__, init.__name__, init.__defaults__, init.__closure__)
            functools.update_wrapper(named, init)
            del named.__wrapped__
            named.__kwdefaults__ = init.__kwdefaults__
            named.__qualname__ = f"{cls.__qualname__}.__init__"
            cls.__init__ = named

    def _refuse_arguments(self, args: tuple, kwargs: dict[str, Any]) -> None:
        name = f"{type(self).__name__}.__init__()"
        if kwargs:
            raise TypeError(f"{name} got an unexpected keyword argument '{next(iter(kwargs))}'")
        if args:
            raise TypeError(f"{name} takes 1 positional argument but {len(args) + 1} were given")

    # The call ---------------------------------------------------------------------------------------------------------

    forward: Callable[..., Any] = _forward_unimplemented

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        programs = module_programs.value
        if programs and (program := programs.get(id(self))) is not None and module_caller.value is None:
            return program(self, args, kwargs)
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        """The call with its hooks, never by a program."""
        # one read of __dict__ instead of five: attribute reads on a class with __getattr__ are not specialised (3.11)
        state = self.__dict__
        try:
            hooked = (
                state["_backward_hooks"]
                or state["_backward_pre_hooks"]
                or state["_forward_hooks"]
                or state["_forward_pre_hooks"]
                or global_hook_registered
            )
        except KeyError as missing:
            raise AttributeError(
                f"'{type(self).__name__}' object has no attribute {missing}: call super().__init__() in its __init__"
            ) from None
        caller = module_caller.value
        try:
            if caller is not None:
                return caller(self, _call, hooked, args, kwargs)
            return call_with_hooks(self, args, kwargs) if hooked else self.forward(*args, **kwargs)
        except Exception as error:
            note_module(error, self, args, kwargs)
            raise

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Compile this module's forward in place; the arguments are those of `rushlight.compile`."""
        _compiled().compile_in_place(self, args, kwargs)

    def _compiled_wrapper(self, options: dict[str, Any]) -> Module:
        """What `rushlight.compile(module)` returns."""
        return _compiled().OptimizedModule(self, options)

    # Registration -----------------------------------------------------------------------------------------------------

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or with None a place for one that the module does without.

        KeyError for a name that is taken, empty or dotted; TypeError for anything but a Parameter; ValueError for one
        with a history.
        """
        self._check_name("parameter", "_parameters", name)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{typename(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                    f"explicitly. To express '{name}' as a function of another Tensor, compute the value in the "
                    "forward() method."
                )
            param = _run_registration_hooks(_global_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is part of the module's state but not trained.

        ``persistent``: whether `state_dict` contains it. Errors as for `register_parameter`.
        """
        self._check_name("buffer", "_buffers", name)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = _run_registration_hooks(_global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule, reachable as the attribute ``name``. Errors as for `register_parameter`."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", "_modules", name)
        self._modules[name] = _run_registration_hooks(_global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """`add_module` under another name."""
        self.add_module(name, module)

    def _check_name(self, kind: str, table: str, name: Any) -> None:
        if table not in self.__dict__:
            raise AttributeError(f"cannot assign {kind} before Module.__init__() call")
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            got = f", got: {name}" if kind == "module" else ""
            raise KeyError(f'{kind} name can\'t contain "."{got}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in self.__dict__[table] and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # Attributes -------------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        try:
            return state["_parameters"][name]
        except KeyError:  # another kind of member, or __init__ has not run
            pass
        for table in ("_modules", "_buffers"):
            members = state.get(table, ())
            if name in members:
                return members[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        is_tensor = isinstance(value, Tensor)
        if is_tensor and isinstance(value, Parameter):
            self._require_initialised("parameters")
            self._forget(name, keep="_parameters")
            self.register_parameter(name, value)
        elif name in state.get("_parameters", ()):
            if value is not None:
                raise _wrong_type(value, f"parameter '{name}' (torch.nn.Parameter or None expected)")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._require_initialised("module")
            self._forget(name, keep="_modules")
            state["_modules"][name] = _run_registration_hooks(_global_module_registration_hooks, self, name, value)
        elif name in state.get("_modules", ()):
            if value is not None:
                raise _wrong_type(value, f"child module '{name}' (torch.nn.Module or None expected)")
            state["_modules"][name] = _run_registration_hooks(_global_module_registration_hooks, self, name, value)
        elif name in state.get("_buffers", ()) or (is_tensor and isinstance(value, Buffer)):
            self._set_buffer(name, value)
        else:
            observer = training_observer.value
            if observer is not None and name == "requires_grad":
                observer.attribute_set(self, name, value)
            object.__setattr__(self, name, value)

    def _require_initialised(self, what: str) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")

    def _forget(self, name: str, keep: str) -> None:
        """Drop what the attribute was before, except in the table that is about to be written, to keep its place."""
        state = self.__dict__
        state.pop(name, None)
        for table in ("_parameters", "_buffers", "_modules"):
            if table != keep:
                state[table].pop(name, None)
        state["_non_persistent_buffers_set"].discard(name)

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise _wrong_type(value, f"buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)")
        persistent = name not in self.__dict__.get("_non_persistent_buffers_set", ())
        if isinstance(value, Buffer):
            persistent = value.persistent
        if persistent:
            self.register_buffer(name, value)
        else:
            self.register_buffer(name, value, False)

    def __delattr__(self, name: str) -> None:
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())  # the numbers of a container are not attributes

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if state.pop("_is_compiled", False):
            del state["forward"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for table in _HOOK_TABLES:  # a module that an older version wrote lacks the newer ones
            self.__dict__.setdefault(table, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    # The whole tree ---------------------------------------------------------------------------------------------------

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Call ``fn`` on every module of the tree, children first, and return the module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Module:
        """Set ``training`` on every module of the tree."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        observer = training_observer.value
        if observer is not None:
            observer.mode_set(self, mode)
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Module:
        """`train(False)`."""
        if (note := module_evaluated.value) is not None:
            note(self)
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Set ``requires_grad`` of every parameter."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients of all parameters: to None, or else to zeros in the memory they have."""
        if getattr(self, "_is_replica", False):
            warnings.warn(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The parameters are "
                "copied (in a differentiable manner) from the original module. This means they are not leaf nodes in "
                "autograd and so don't accumulate gradients. If you need gradients in your forward method, consider "
                "using autograd.grad instead.",
                stacklevel=2,
            )
        reset_grads(self.parameters(), set_to_none)

    # Printing ---------------------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What the printed form says between the parentheses besides the submodules; may have several lines."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        lines += children
        body = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({body})"


module_class.register(Module)


def _addindent(s_: str, numSpaces: int) -> str:
    """The text with every line after the first, but empty ones, moved in by so many places."""
    first, *rest = s_.split("\n")
    return "\n".join([first, *(numSpaces * " " + line if line.strip() else "" for line in rest)])


def _run_registration_hooks(hooks: OrderedDict[int, Callable], module: Module, name: str, value: Any) -> Any:
    for hook in hooks.values():
        replaced = hook(module, name, value)
        if replaced is not None:
            value = replaced
    return value


def _call(module: Module, hooked: Any, args: tuple, kwargs: dict[str, Any]) -> Any:
    return call_with_hooks(module, args, kwargs) if hooked else module.forward(*args, **kwargs)


def _wrong_type(value: Any, place: str) -> TypeError:
    return TypeError(f"cannot assign '{typename(value)}' as {place}")
