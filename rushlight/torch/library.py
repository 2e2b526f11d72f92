"""`torch.library`: operators that programs and libraries register, called by `torch.ops.<namespace>.<name>`.

>>> from rushlight import Tensor, ones
>>> @custom_op("docs::scaled", mutates_args=())
... def scaled(x: Tensor, factor: float = 2.0) -> Tensor:
...     return x * factor
>>> scaled.register_autograd(lambda ctx, g: (g * ctx.factor, None),
...     setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]))
>>> x = ones(2).requires_grad_()
>>> scaled(x, 3.0).sum().backward()
>>> x.grad
tensor([3., 3.])
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..autograd.function import Function
from ..core.dispatch import torch_function
from ..core.dispatch.extension_points import registered_operators, tracer_of_programs
from ..core.dispatch.mode import is_grad_enabled, no_grad
from ..core.tensor.tensor import Tensor
from . import _opcheck
from ._schema import Schema, infer_schema, parse_schema
from ._stand_ins import lookup, stand_in
from .unavailable import exported

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_vmap",
]
__all__ += exported("library")

_operators: dict[str, Operator] = {}
_kernels_before: dict[str, dict[str, Callable]] = {}  # of operators that have kernels and no definition yet
_OF_TORCH = ("aten", "prim", "prims", "quantized")
_COMPOSITE = "CompositeImplicitAutograd"
_KEYS = {"": _COMPOSITE, "cpu": "CPU", "default": "CompositeExplicitAutograd", "types": "CompositeExplicitAutograd"}


# ------------------------------------------------------------------------------------------ operators


class Operator:
    """A registered operator; a call runs the kernel for the CPU, or the one for every device."""

    def __init__(self, name: str, schema: Schema, tags: Sequence[Any] = ()):
        self._name, self._schema, self.tags = name, schema, list(tags)
        self._namespace, _, self.__name__ = name.partition("::")
        self.__module__ = f"torch.ops.{self._namespace}"
        self._kernels: dict[str, Callable] = _kernels_before.pop(name, {})
        self._disabled: set[str] = set()
        self._backward: Callable | None = None
        self._setup_context: Callable | None = None
        self._always_records = False  # an operator of `custom_op` is one node, with a formula or without
        self._fake: Callable | None = None
        self._vmap: Callable | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        tracer = None if tracer_of_programs.value is None else tracer_of_programs.value()
        overrides = torch_function.overrides(args, kwargs) if tracer is None else None
        if overrides is not None:
            return torch_function.ask(self, overrides, args, kwargs)
        values, options = self._schema.bind(args, kwargs)
        if tracer is not None:
            positional = iter(values)
            given = [options[a.name] if a.kwarg_only else next(positional) for a in self._schema.arguments]
            return tracer.operator(self._name, *given)
        override = self._kernels.get("Autograd") or self._kernels.get("AutogradCPU")
        if override is not None:
            return override(*values, **options)
        if _COMPOSITE in self._kernels and "CPU" not in self._kernels:
            return self._kernels[_COMPOSITE](*values, **options)
        batch = next((t for t in _tensors(values) if hasattr(t, "_apply_function")), None)
        if batch is not None:
            return batch._apply_function(lambda *own: self(*own, **options), self._vmap, values)  # type: ignore[attr-defined]
        if not (self._always_records or self._backward):
            return self._run(values, options)
        if is_grad_enabled() and any(t.requires_grad for t in _tensors(values)):
            return _recorded(self, values, options)
        with no_grad():
            return self._run(values, options)

    def _run(self, values: list[Any], options: dict[str, Any]) -> Any:
        keys = ("CPU", "CompositeExplicitAutograd", _COMPOSITE)
        kernel = next((self._kernels[k] for k in keys if k in self._kernels and k not in self._disabled), None)
        if kernel is None:
            raise NotImplementedError(
                f"Could not run '{self._name}' with arguments from the 'CPU' backend. No kernel is registered for it"
            )
        return kernel(*values, **options)

    @property
    def default(self) -> Operator:
        """The overload of this name: an operator has one here."""
        return self

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return ["default"]

    def name(self) -> str:
        """namespace::name"""
        return self._name

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


def _tensors(values: Iterable[Any]) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from (t for t in value if isinstance(t, Tensor))


def _recorded(operator: Operator, values: list[Any], options: dict[str, Any]) -> Any:
    """Run the operator as one node of the history. Lists of tensors are laid out flat, and gradients gathered again."""
    flat: list[Any] = []
    sizes: list[int | None] = []
    for value in values:
        is_list = isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) for v in value)
        sizes.append(len(value) if is_list else None)
        flat.extend(value if is_list else [value])

    returns_list = operator._schema.returns == ["Tensor[]"]

    class Generated(Function):
        _rule = staticmethod(operator._backward or _no_backward)

        @staticmethod
        def forward(ctx: Any, *inputs: Any) -> Any:
            own = _gathered(inputs, sizes)
            result = operator._run(own, options)
            if operator._setup_context is not None:
                by_keyword = {"keyword_only_inputs": options} if operator._schema.has_keyword_arguments else {}
                operator._setup_context(ctx=ctx, inputs=tuple(own), output=result, **by_keyword)
            return tuple(result) if isinstance(result, list) else result

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            if operator._backward is None:
                raise RuntimeError(
                    f"Trying to backward through {operator}.default but no autograd formula was registered. "
                    "Please use register_autograd to add one."
                )
            found = operator._backward(ctx, *([list(gradients)] if returns_list else gradients))
            return _laid_out(found if isinstance(found, tuple) else (found,), sizes)

    name = f"GeneratedBackwardFor_{operator._namespace}_{operator.__name__}_default"
    result = type(name, (Generated,), {}).apply(*flat)
    return list(result) if returns_list else result


def _no_backward(*_: Any) -> None:
    """The rule of an operator for which no gradient was registered."""


def _gathered(flat: Sequence[Any], sizes: Sequence[int | None]) -> list[Any]:
    values, rest = [], iter(flat)
    for size in sizes:
        values.append(next(rest) if size is None else [next(rest) for _ in range(size)])
    return values


def _laid_out(gradients: tuple, sizes: Sequence[int | None]) -> tuple:
    flat: list[Any] = []
    for gradient, size in zip(gradients, sizes, strict=True):
        if size is None:
            flat.append(gradient)
        else:
            flat.extend([None] * size if gradient is None else gradient)
    return tuple(flat)


def registered(namespace: str, name: str) -> Operator | None:
    """The operator of `torch.ops.<namespace>.<name>`, or None."""
    return _operators.get(f"{namespace}::{name}")


class _Namespace:
    """`torch.ops.<namespace>`: the operators that are registered there."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Operator:
        return _operator(f"{self._name}::{name}")


def _namespace(name: str) -> _Namespace | None:
    return _Namespace(name) if any(known.startswith(f"{name}::") for known in (*_operators, *_kernels_before)) else None


registered_operators.register(_namespace)


def _operator(op: Any) -> Operator:
    if isinstance(op, CustomOpDef):
        return op._operator
    if isinstance(op, Operator):
        return op
    namespace, name = _names(op)
    found = registered(namespace, name)
    if found is None:
        raise AttributeError(f"'_OpNamespace' {namespace!r} object has no attribute {name!r}")
    return found


def _kernels(op: Any) -> dict[str, Callable]:
    """The kernels of an operator, by dispatch key. As in torch a program may give them before it defines the operator;
    not for torch's own operators, whose kernels cannot be replaced."""
    if isinstance(op, str):
        namespace, name = _names(op)
        if registered(namespace, name) is None and namespace not in _OF_TORCH:
            return _kernels_before.setdefault(f"{namespace}::{name}", {})
    return _operator(op)._kernels


def _names(qualname: str) -> tuple[str, str]:
    parts = qualname.split("::")
    if len(parts) != 2:
        raise ValueError(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The qualname passed to the '
            "torch.library APIs must consist of a namespace and a name, e.g. aten::sin"
        )
    return parts[0], parts[1].removesuffix(".default")


def _define(name: str, schema: str, tags: Any = (), again: bool = False) -> Operator:
    if name in _operators and not again:
        raise RuntimeError(
            f"Tried to register an operator ({name}{schema}) with the same name and overload name multiple times. Each "
            "overload's schema should only be registered with a single call to def()."
        )
    tags = tags if isinstance(tags, (list, tuple)) else (tags,)
    operator = _operators[name] = Operator(name, parse_schema(schema, name), tags)
    return operator


# ------------------------------------------------------------------------------------------ custom_op


class CustomOpDef:
    """An operator made by `custom_op`: call it, or give it more rules."""

    def __init__(self, operator: Operator, function: Callable):
        self._operator, self._init_fn = operator, function
        self._namespace, self._name, self._schema = operator._namespace, operator.__name__, operator._schema.text
        self._qualname = operator._name
        self._opoverload = operator

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._operator(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types: str | Sequence[str] | None, fn: Callable | None = None, /) -> Callable:
        """The function for devices of these types; None is all. Also a decorator."""
        return register_kernel(self, device_types, fn)

    def register_fake(self, fn: Callable, /) -> Callable:
        """The function that tells shapes and types. Kept; nothing here asks for it."""
        return register_fake(self, fn)

    def register_autograd(self, backward: Callable, /, *, setup_context: Callable | None = None) -> None:
        """The gradient: see the function `register_autograd`."""
        register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func: Callable | None = None) -> Callable:
        """The rule for batches; without one `vmap` calls the operator for each example."""
        return register_vmap(self, func)

    register_torch_dispatch = stand_in("library.CustomOpDef.register_torch_dispatch")
    register_autocast = stand_in("library.CustomOpDef.register_autocast")

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """A context in which the kernel for a device type is used, or is not."""
        key, disabled = _key(device_type), self._operator._disabled
        before = key in disabled
        disabled.discard(key) if enabled else disabled.add(key)
        try:
            yield
        finally:
            disabled.add(key) if before else disabled.discard(key)


def custom_op(
    name: str,
    fn: Callable | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = (),
) -> Any:
    """Make a function an operator `namespace::name`, one node of the history. Also a decorator.

    mutates_args: the arguments that it writes into, or "unknown". schema: inferred from annotations if None. Raises
    ValueError where a schema says something else than mutates_args, or cannot be inferred.
    """

    def make(function: Callable) -> CustomOpDef:
        text = schema or infer_schema(function, mutates_args=mutates_args)
        operator = _define("::".join(_names(name)), text, tags, again=True)
        operator._always_records = True
        written = {a.name for a in operator._schema.arguments if a.written}
        if schema is not None and written != set(mutates_args):
            raise ValueError(
                f"Attempted to create a custom op with `mutates_args={mutates_args}` and `schema={schema}. The schema "
                f"suggests that the op mutates {written} which is different from what was provided to us in `mutates_args`."
            )
        custom = CustomOpDef(operator, function)
        custom.register_kernel(device_types)(function)
        return custom

    return make if fn is None else make(fn)


def triton_op(
    name: str, fn: Callable | None = None, /, *, mutates_args: str | Iterable[str], schema: str | None = None
) -> Any:
    """As `custom_op`. There is no Triton here: what `fn` would start by `wrap_triton` raises when it is called."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


# ------------------------------------------------------------------------------------------ rules


def _key(device_type: str | None) -> str:
    if device_type is None:
        return "CompositeExplicitAutograd"
    return _KEYS.get(device_type, device_type if device_type[:1].isupper() else device_type.upper())


def register_kernel(
    op: Any, device_types: str | Sequence[str] | None, func: Callable | None = None, /, *, lib: Any = None
) -> Callable:
    """The function that computes an operator on devices of these types; None is all. Also a decorator."""
    types = [device_types] if device_types is None or isinstance(device_types, str) else device_types
    kernels = _kernels(op)

    def register(function: Callable) -> Callable:
        for kind in types:
            kernels[_key(kind)] = function
        return function

    return register if func is None else register(func)


def register_autograd(
    op: Any, backward: Callable, /, *, setup_context: Callable | None = None, lib: Any = None
) -> None:
    """The gradient of an operator, in the manner of `autograd.Function`.

    backward(ctx, *gradients) gives a gradient or None for each argument; setup_context(ctx, inputs, output) keeps what it
    needs (with keyword_only_inputs where there are such).
    """
    operator = _operator(op)
    schema = operator._schema
    if any(a.written for a in schema.arguments):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {operator} with schema {schema}. Please create "
            "a functional operator and register an autograd formula for that."
        )
    if any(a.kwarg_only and a.type.startswith("Tensor") for a in schema.arguments):
        raise NotImplementedError(
            "register_autograd with kwarg-only Tensor args. In the original definition of the op, please make your tensors "
            f"not kwarg-only. Got: {schema}"
        )
    operator._backward, operator._setup_context = backward, setup_context


def register_fake(
    op: Any, func: Callable | None = None, /, *, lib: Any = None, allow_override: bool = False
) -> Callable:
    """The function that tells the shapes and types of results. Kept; nothing here asks for it. Also a decorator."""
    operator = _operator(op)

    def register(function: Callable) -> Callable:
        operator._fake = function
        return function

    return register if func is None else register(func)


def impl_abstract(qualname: Any, func: Callable | None = None, *, lib: Any = None) -> Callable:
    """The older name of `register_fake`."""
    return register_fake(qualname, func, lib=lib)


def register_vmap(op: Any, func: Callable | None = None, /, *, lib: Any = None) -> Callable:
    """The rule for batches, `func(info, in_dims, *args)`; without one `vmap` calls the operator for each example. Also a
    decorator."""
    operator = _operator(op)

    def register(function: Callable) -> Callable:
        operator._vmap = function
        return function

    return register if func is None else register(func)


# ------------------------------------------------------------------------------------------ in two steps


def opcheck(
    op: Any, args: tuple, kwargs: dict[str, Any] | None = None, *,
    test_utils: str | Sequence[str] = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"),
    raise_exception: bool = True, atol: float | None = None, rtol: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Whether an operator does, for some arguments, what its registration says.

    test_schema: it writes into no argument but those declared, and its results share no memory with them.
    test_autograd_registration: a kernel for the CPU comes with a rule for the gradient, if an argument requires grad.
    test_faketensor: `register_fake`'s function gives the shapes, types and strides of the results.
    test_aot_dispatch_dynamic: compiled calls give the values and gradients of eager ones.

    Args:
        op: what `custom_op` or `torch.ops` gives.
        args: its arguments; those of its tensors that require grad are differentiated.
        raise_exception: raise OpCheckError for the first test that fails, rather than return the errors.
        atol, rtol: how far compiled values may be from eager ones, as in `isclose`.
    Raises:
        OpCheckError: a test fails.
        ValueError: there is no test of a name.
    """
    return _opcheck.run(op, _operator(op), args, kwargs, test_utils, raise_exception, atol, rtol)


class Library:
    """A namespace to define operators in (kind "DEF" or "FRAGMENT") or to give kernels for (kind "IMPL")."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = ""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in ("aten", "prim") and kind != "FRAGMENT" and kind != "IMPL":
            raise RuntimeError(f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined: list[str] = []
        self._given: list[tuple[dict[str, Callable], str, Callable]] = []

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operator, `name(Tensor x) -> Tensor`. Returns its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        name = schema.partition("(")[0].strip()
        qualified = f"{self.ns}::{name}"
        _define(qualified, schema[schema.index("(") :], tags)
        self._defined.append(qualified)
        return name

    def impl(
        self,
        op_name: Any,
        fn: Callable,
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Give the kernel of an operator for a dispatch key ("CPU", "CompositeImplicitAutograd", "Autograd", ...)."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if with_keyset:
            raise NotImplementedError("torch.library.Library.impl: with_keyset=True is not implemented")
        name = op_name if isinstance(op_name, str) else op_name.name()
        name = name.partition("::")[2] or name
        key = _key(dispatch_key or self.dispatch_key)
        kernels = _kernels(f"{self.ns}::{name}")
        kernels[key] = fn
        self._given.append((kernels, key, fn))

    fallback = stand_in("library.Library.fallback")

    def _destroy(self) -> None:
        """Take back what was defined here, and the kernels."""
        for kernels, key, function in self._given:
            if kernels.get(key) is function:
                del kernels[key]
        self._given.clear()
        for name in self._defined:
            _operators.pop(name, None)
        self._defined.clear()


def define(qualname: Any, schema: str, *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Define an operator `namespace::name` by its schema; `impl` gives it kernels."""
    if isinstance(qualname, Library):
        name = qualname.define(schema)
        return lambda function: qualname.impl(name, function) or function
    namespace, name = _names(qualname)
    if not schema.startswith("("):
        raise ValueError(
            f'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got "{schema}"'
        )
    _define(f"{namespace}::{name}", schema, tags)


def impl(qualname: Any, types: str | Sequence[str], func: Callable | None = None, *, lib: Library | None = None) -> Any:
    """The function of an operator on devices of these types ("default" is all). Also a decorator."""
    if isinstance(qualname, Library):
        return lambda function: qualname.impl(types, function) or function
    kinds = [types] if isinstance(types, str) else types

    def register(function: Callable) -> None:
        for kind in kinds:
            _kernels(qualname)[_key(kind)] = function

    return register if func is None else register(func)


if not TYPE_CHECKING:  # else every name would be one of the module's
    __getattr__, __dir__ = lookup(__name__)
