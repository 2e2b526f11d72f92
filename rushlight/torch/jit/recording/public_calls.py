"""Public functions by torch's names of operators: `x + y` is add, `x.T` is numpy_T, `F.conv2d` is _convolution."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from ....core.dispatch.op import OPS
from ....core.tensor.tensor import Tensor
from ....nn import functional as F
from ..._settings import get_default_device
from ..ir import functional_rules
from ..ir.binding import Call, bind
from ..ir.functional_rules import NAMESPACES

__all__ = ["WRITTEN_IN_PYTHON", "call_of", "name_of"]

_SAME = {"neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not", "truediv": "div", "mod": "remainder"}
_DUNDERS = {f"__{name}__": theirs for name, theirs in _SAME.items()}
_DUNDERS |= {f"__{n}__": n for n in ("add", "sub", "mul", "pow", "matmul", "eq", "ne", "lt", "le", "gt", "ge")}
_DUNDERS |= {"__floordiv__": "floor_divide", "__radd__": "add", "__rmul__": "mul", "__rsub__": "rsub"}
_REFLECTED = {"__rpow__": "pow", "__rfloordiv__": "floor_divide", "__rmod__": "remainder", "__rmatmul__": "matmul"}
_REFLECTED |= {f"__r{n}__": f"bitwise_{n}" for n in ("and", "or", "xor")}
_REFLECTED |= {"__rlshift__": "bitwise_left_shift", "__rrshift__": "bitwise_right_shift"}
_DUNDERS |= _REFLECTED
_DUNDERS |= {f"__i{n}__": f"{n}_" for n in ("add", "sub", "mul", "pow")}
_DUNDERS |= {"__itruediv__": "div_", "__ifloordiv__": "floor_divide_", "__imod__": "remainder_"}
_PROPERTIES = {
    "T": "numpy_T",
    "mT": "mT",
    "H": "matrix_H",
    "mH": "mH",
    "data": "detach",
    "real": "real",
    "imag": "imag",
}
# functions of torch that are Python above several operators, or take other arguments than the operator of their name
_PYTHON = frozenset((
    "norm", "stft", "unique", "unique_consecutive", "tensordot", "cdist", "lu", "lu_unpack", "interpolate",
    "upsample", "requires_grad_", "ctc_loss", "fractional_max_pool2d", "fractional_max_pool3d",
    "max_unpool1d",
    "max_unpool2d", "max_unpool3d", "hspmm", "svd_lowrank", "pca_lowrank",
))  # fmt: skip

# functions of several operators that compute with sizes by `shape` alone: what they call is recorded
WRITTEN_IN_PYTHON = frozenset((
    "multi_head_attention_forward", "softsign", "tanhshrink", "softmin", "normalize", "norm", "local_response_norm",
    "lp_pool1d", "lp_pool2d", "lp_pool3d", "gaussian_nll_loss", "multilabel_soft_margin_loss",
    "triplet_margin_with_distance_loss", "upsample_nearest", "upsample_bilinear", "type", "softmax",
    "log_softmax", "special.softmax", "special.log_softmax", "embedding", "linalg_norm", "kl_div", "mse_loss", "l1_loss",
    "huber_loss",
))  # fmt: skip


@cache
def _of_namespaces() -> dict[Any, str]:
    """Operators by the function, for those whose functions have another name: linalg_norm is linalg.norm."""
    named: dict[Any, str] = {}
    for space, module in NAMESPACES.items():
        named |= {f: f"{space}_{n}" for n in module.__all__ if callable(f := getattr(module, n))}
    return named


def name_of(func: Callable) -> str:
    """The name of a public function, or of the property that a getter belongs to."""
    owner = getattr(func, "__self__", None)
    if isinstance(owner, property):
        return next((n for n in _PROPERTIES if getattr(Tensor, n) is owner), "property")
    own = getattr(func, "__name__", str(func))
    return own if func in (OPS.get(own), vars(Tensor).get(own)) else _names().get(func, own)


@cache
def _names() -> dict[Any, str]:
    """The public names of functions, which some were not defined by."""
    spaces: list[dict[str, Any]] = [
        dict(vars(Tensor)),
        OPS,
        {n: getattr(F, n) for n in dir(F) if not n.startswith("_")},
    ]
    return {f: name for space in spaces for name, f in reversed(space.items()) if isinstance(f, FunctionType)}


def call_of(func: Callable, name: str, args: tuple, kwargs: dict[str, Any]) -> Call | None:
    """The call as one of torch's operator; None where it is not one."""
    call = _plain_call(func, name, args, kwargs)
    return call if call is None else _placed(call)


def _placed(call: Call) -> Call:
    """The call with what Python says of new tensors: where they are, and that their memory is not pinned."""
    if any(p.type.startswith("Tensor") for p in call.schema.parameters[:1]):
        named = {"pin_memory": False} if call.schema.name.startswith("new_") else {}
    else:
        named = {"pin_memory": False, "device": get_default_device()}
    pairs = zip(call.schema.parameters, call.arguments, strict=True)
    return call._replace(arguments=[named.get(p.name) if v is None else v for p, v in pairs])


def _plain_call(func: Callable, name: str, args: tuple, kwargs: dict[str, Any]) -> Call | None:
    for value in ("out", "generator"):
        if kwargs.get(value) is not None:
            raise NotImplementedError(f"torch.jit.trace: {name}({value}=...) cannot be recorded")
    if isinstance(getattr(func, "__self__", None), property):
        return bind(_PROPERTIES[name], args, kwargs) if name in _PROPERTIES else None
    rules = functional_rules.by_function().get(func)
    for rule in rules or ():
        call = functional_rules.call_of(rule, func, args, kwargs)
        if call is not None:
            return call
    in_namespace = _of_namespaces().get(func)
    if in_namespace is not None:
        return bind(in_namespace, args, kwargs)
    if rules or name in _PYTHON:
        return None
    if name in _REFLECTED:
        args = (args[1], args[0])
    args, kwargs, end = _in_place(func, name, args, kwargs)
    return bind(_DUNDERS.get(name, name) + end, args, kwargs)


def _in_place(func: Callable, name: str, args: tuple, kwargs: dict[str, Any]) -> tuple[tuple, dict[str, Any], str]:
    """The arguments without `inplace`, and the end of the operator's name."""
    if getattr(F, name, None) is not func or "inplace" not in (parameters := inspect.signature(func).parameters):
        return args, kwargs, ""
    at = list(parameters).index("inplace")
    given = args[at] if len(args) > at else kwargs.get("inplace", False)
    return args[:at] + args[at + 1 :], {k: v for k, v in kwargs.items() if k != "inplace"}, "_" if given else ""
