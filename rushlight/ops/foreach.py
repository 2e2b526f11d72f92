"""torch's `_foreach_*` functions: one operator over lists of tensors, tensor by tensor.

`_foreach_add(xs, ys)` gives (x + y, ...); `_foreach_add_` writes into the first list and returns it. Gradients,
versions and errors are those of the operator itself.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from .. import ops
from ..core.dispatch.errors import type_error
from ..core.dispatch.scalars import check_flag
from ..core.dispatch.slow_path import is_computed
from ..core.tensor.tensor import Tensor
from .linalg.linalg import vector_norm
from .pointwise.checks import not_implemented

_UNARY = (
    "abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac", "lgamma",
    "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt",
    "tan", "tanh", "trunc",
)  # fmt: skip
# name -> (the tensor's method, its counterpart for a number where that is another one)
_BINARY = {
    "add": ("add", "add"), "sub": ("sub", "sub"), "mul": ("mul", "mul"), "div": ("div", "div"), "pow": ("pow", "pow"),
    "maximum": ("maximum", "clamp_min"), "minimum": ("minimum", "clamp_max"),
    "clamp_min": ("clamp_min", "clamp_min"), "clamp_max": ("clamp_max", "clamp_max"),
}  # fmt: skip
_ONE_TENSOR = {"add", "mul", "div"}  # take a single tensor for the second list
_ALPHA = {"add", "sub"}


def _tensors(values: Any, name: str, place: str = "self", position: int = 1) -> list[Tensor]:
    if isinstance(values, (list, tuple)) and values and all(isinstance(t, Tensor) for t in values):
        return list(values)
    if isinstance(values, (list, tuple)) and not values:
        raise RuntimeError("Tensor list must have at least one tensor.")
    raise type_error(
        f"{name}(): argument '{place}' (position {position}) must be tuple of Tensors, not {type(values).__name__}"
    )


def _each(values: Any, n: int, name: str) -> Any:
    """A list of n values as it is; one value n times."""
    if isinstance(values, (list, tuple)):
        if len(values) != n:
            kind = "scalar" if values and not isinstance(values[0], Tensor) else "tensor"
            raise RuntimeError(
                f"Tensor list must have same number of elements as {kind} list, got {n} and {len(values)} ({name})."
                if kind == "scalar"
                else f"Tensor lists must have the same number of tensors, got {n} and {len(values)}"
            )
        return values
    return repeat(values, n)


def _same_length(values: Any, n: int, name: str, place: str) -> list[Tensor]:
    return list(_each(_tensors(values, name, place, 2), n, name))


def _define(name: str, out_of_place: Callable[..., Any], doc: str, inplace: Callable[..., Any] | None = None) -> None:
    """Publish `_foreach_<name>`, and `_foreach_<name>_` where there is an in-place form."""

    def fresh(*args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        return tuple(out_of_place(*args, **kwargs))

    out_of_place.__qualname__ = f"_foreach_{name}"  # Python's errors of a wrong call show it
    _publish(f"_foreach_{name}", fresh, f"{doc} Returns a tuple.")
    if inplace is None:
        return
    inplace.__qualname__ = f"_foreach_{name}_"

    def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        for _ in inplace(self, *args, **kwargs):
            pass
        return self

    _publish(f"_foreach_{name}_", write, f"{doc} Written into the first list, which is returned.")


def _publish(name: str, function: Callable[..., Any], doc: str) -> None:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    globals()[name] = function


# ---------------------------------------------------------------------------------------------- families


def _unary(method: str, name: str) -> Callable[..., Any]:
    return lambda self: (getattr(t, method)() for t in _tensors(self, name))


def _binary(name: str, suffix: str) -> Callable[..., Any]:
    of_tensor, of_number = _BINARY[name]
    if suffix and name in ("maximum", "minimum"):  # tensors have no in-place form of these
        of_tensor = of_number
    full = f"_foreach_{name}{suffix}"

    def run(self: Any, other: Any = None, *, alpha: Any = 1, **named: Any) -> Any:
        for word in ("scalar", "scalars", "exponent"):
            other = named.pop(word, other)
        if named:
            raise type_error(f"{full}() got an unexpected keyword argument '{next(iter(named))}'")
        if name == "pow" and not suffix and not isinstance(self, (list, tuple)):
            return (ops.pow(self, e) for e in _tensors(other, full, "exponent", 2))
        tensors = _tensors(self, full)
        if other is None:
            raise type_error(f'{full}() missing 1 required positional arguments: "other"')
        if isinstance(other, Tensor) and name not in _ONE_TENSOR:
            other = other.item()
        is_given = is_computed(alpha) or alpha != 1
        if is_given and name not in _ALPHA:
            raise type_error(f"{full}() got an unexpected keyword argument 'alpha'")
        options = {"alpha": alpha} if is_given else {}
        return (
            getattr(t, (of_tensor if isinstance(o, Tensor) else of_number) + suffix)(o, **options)
            for t, o in zip(tensors, _each(other, len(tensors), full), strict=True)
        )

    return run


def _ternary(name: str, suffix: str) -> Callable[..., Any]:
    full = f"_foreach_{name}{suffix}"

    def run(self: Any, tensor1: Any, tensor2: Any, value: Any = 1, *, scalars: Any = None) -> Any:
        tensors = _tensors(self, full)
        values = value if scalars is None else scalars
        if isinstance(values, Tensor) and not is_computed(values):
            values = values.tolist()
        n = len(tensors)
        firsts, seconds = _same_length(tensor1, n, full, "tensor1"), _same_length(tensor2, n, full, "tensor2")
        rows = zip(tensors, firsts, seconds, _each(values, n, full), strict=True)
        return (getattr(t, name + suffix)(a, b, value=v) for t, a, b, v in rows)

    return run


def _lerp(suffix: str) -> Callable[..., Any]:
    full = f"_foreach_lerp{suffix}"

    def run(self: Any, tensors1: Any, weight: Any = None, *, weights: Any = None) -> Any:
        tensors = _tensors(self, full)
        if weight is None and weights is None:
            got = ", ".join(type(v).__name__ for v in (self, tensors1))
            raise type_error(
                f"{full}() received an invalid combination of arguments - got ({got}), but expected a weight"
            )
        by = _each(weight if weights is None else weights, len(tensors), full)
        rows = zip(tensors, _same_length(tensors1, len(tensors), full, "tensors1"), by, strict=True)
        return (getattr(t, "lerp" + suffix)(end, w) for t, end, w in rows)

    return run


def _norm(self: Any, ord: Any = 2, dtype: Any = None) -> Any:
    if isinstance(ord, complex):
        raise RuntimeError("foreach_tensor_norm_slow expects ord to be integer or float")
    return (vector_norm(t, ord, dtype=dtype) for t in _tensors(self, "_foreach_norm"))


def _powsum(self: Any, ord: Any = 2, dtype: Any = None) -> Any:
    if isinstance(ord, complex):
        raise RuntimeError("value cannot be converted to type double without overflow")
    tensors = [t if dtype is None else t.to(dtype) for t in _tensors(self, "_foreach_powsum")]  # type: ignore[attr-defined]
    for t in tensors:
        if t.dtype.category < 2:
            raise not_implemented("powsum_cpu", t._array.dtype)
    return (t.abs().pow(ord).sum() for t in tensors)


def _copy(self: Any, src: Any, non_blocking: bool = False) -> Any:
    check_flag("_foreach_copy_", "non_blocking", non_blocking, 3)
    tensors = _tensors(self, "_foreach_copy_")
    sources = _same_length(src, len(tensors), "_foreach_copy_", "src")
    return (t.copy_(s) for t, s in zip(tensors, sources, strict=True))  # type: ignore[attr-defined]


for _name in _UNARY:
    _define(_name, _unary(_name, f"_foreach_{_name}"), f"`{_name}` of each.", _unary(_name + "_", f"_foreach_{_name}_"))
for _name in _BINARY:
    _define(_name, _binary(_name, ""), f"`{_name}` of pairs, or with one number.", _binary(_name, "_"))
for _name in ("addcmul", "addcdiv"):
    _define(_name, _ternary(_name, ""), f"`{_name}` of triples.", _ternary(_name, "_"))
_define("lerp", _lerp(""), "`lerp` of pairs.", _lerp("_"))
_define("norm", _norm, "The vector norm of each.")
_define("powsum", _powsum, "The sum of |x|^ord of each.")
_define("max", _unary("max", "_foreach_max"), "The largest element of each.")
_define("mm", lambda self, mat2: (a.mm(b) for a, b in zip(self, mat2, strict=True)), "The matrix product of pairs.")
_define(
    "clone",
    lambda self, *, memory_format=None: (
        t.clone() if memory_format is None else t.clone(memory_format=memory_format) for t in self
    ),
    "A copy of each.",
)
_define("copy", lambda self, src, non_blocking=False: _copy([t.clone() for t in self], src), "Copies.", _copy)
_define(
    "zero",
    lambda self: (ops.zeros_like(t) for t in self),
    "Zeros.",
    lambda self: (t.zero_() for t in _tensors(self, "")),
)
__all__ = sorted(name for name in globals() if name.startswith("_foreach_"))


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'torch' has no attribute {name!r}: Rushlight does not have it")
