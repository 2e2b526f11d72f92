"""A call of one of our operators written as torch would make it: the overload, its arguments in torch's order.

The overload follows from torch's schemas by names and types of the arguments. Ours that are one operator and several of
torch's are decomposed as torch does (`decomposed`); ours with other arguments than torch's have a row in `_SPECIAL`; one
that torch has not, or that has other results, is `aten._rushlight_<name>.default`, with its arguments as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ...tensor.layout import contiguous_format
from .operators import OpOverload, operator, register
from .run import REDUCTIONS, RENAMED, default_of, is_default
from .schemas import Parameter, Schema, overloads

if TYPE_CHECKING:
    from ..op import Op

__all__ = ["as_aten", "output_padding", "overload_of"]

_NAMES = {
    "softmax": "_softmax",
    "log_softmax": "_log_softmax",
    "softmax_backward": "_softmax_backward_data",
    "log_softmax_backward": "_log_softmax_backward_data",
    "log_sigmoid": "log_sigmoid_forward",
    "max_pool2d": "max_pool2d_with_indices",
    "max_pool3d": "max_pool3d_with_indices",
    "normal_": "normal",
    "uniform_": "uniform",
    "copied_over": "copy",
    "relu_backward": "threshold_backward",
    "spread": "expand",
}
_OWN = {
    "native_batch_norm",
    "native_batch_norm_backward",
    "native_group_norm",
    "native_group_norm_backward",
}  # other results
_OWN |= {"native_layer_norm_backward", "max_pool.values", "ctc_loss.each", "_dropout_mask"}
_TAKES_NUMBERS = (
    "add",
    "sub",
    "mul",
    "div",
    "add_",
    "sub_",
    "mul_",
    "div_",
)  # their Tensor overload, as Python calls it


def base_name(record: Op) -> str:
    """torch's name of the operator that ours is one call of, without an overload's."""
    return _NAMES.get(record.name, record.name.split(".")[0])


def as_aten(
    record: Op, tensors: Sequence[Any], metadata: tuple, writes: bool = False
) -> tuple[OpOverload, tuple, dict]:
    """The overload that torch would call, its arguments and keyword arguments. writes: the form that ends in `_`."""
    name = record.name
    base = base_name(record)
    if writes and not base.endswith("_"):
        base += "_"
    given = [list(tensors)] if record.signature.variadic else list(tensors)
    options = _options(record, metadata)
    special = _SPECIAL.get(name)
    made = None if special is None else special(given, options)
    if made is not None:
        base_or_none, args, kwargs = made
        chosen = overload_of(base_or_none or base, args, kwargs)
        return chosen, tuple(args), kwargs
    known = overloads(base) or (overloads(base[:-1]) if writes else ())  # `addcmul_` takes what `addcmul` takes
    for schema in () if name in _OWN else known:
        bound = _bound(schema, given, options)
        if bound is not None:
            chosen = getattr(operator(base), schema.overload)
            if not writes:
                chosen._runs[record] = schema
            return chosen, *bound
    if writes:
        return operator(base).default, (*given, *metadata), {}
    packet = operator("_rushlight_" + name.replace(".", "_"))
    register(packet.__name__, partial(_call_own, record))
    return packet.default, (*given, *metadata), {}


def _call_own(record: Op, *args: Any) -> Any:
    if record.signature.variadic:
        return record.invoke(record.function, args[0], args[1:])
    n = len(record.signature.arrays)
    return record.invoke(record.function, args[:n], args[n:])


def _options(record: Op, metadata: tuple) -> dict[str, Any]:
    """The arguments that are no tensors, by name, without those that have their default."""
    sig = record.signature
    names = [*sig.positional, *([sig.star] if sig.star else []), *sig.keyword]
    defaults = {**sig.defaults, **sig.keyword_defaults}
    named = dict(zip(names, metadata, strict=True))
    return {k: v for k, v in named.items() if k not in defaults or v is not defaults[k] and v != defaults[k]}


def _bound(schema: Schema, tensors: list, options: dict[str, Any]) -> tuple[tuple, dict] | None:
    """The arguments for an overload, or None where they do not fit."""
    queue, left, values = list(tensors), dict(options), []
    numbers_too = schema.name in _TAKES_NUMBERS and schema.overload == "Tensor"
    for p in schema.parameters:
        key = p.name if p.name in left else next((k for k in left if RENAMED.get(k) == p.name), None)
        if key is not None:
            value = left.pop(key)
            if key == "reduction" and isinstance(value, str):
                value = REDUCTIONS[value]
            if not p.accepts(value):
                return None
            values.append((p, value, True))
        elif queue and (
            p.accepts(queue[0]) or numbers_too and p.type == "Tensor" and isinstance(queue[0], (int, float, complex))
        ):
            values.append((p, queue.pop(0), True))
        elif p.default is not None:
            values.append((p, None, False))
        else:
            return None
    if queue or any(v is not None and v is not False for v in left.values()):
        return None
    return _arranged(values)


def _arranged(values: list[tuple[Parameter, Any, bool]]) -> tuple[tuple, dict]:
    """Positional arguments up to the last that is not its default, and keyword arguments that are not theirs."""
    positional = [(p, v, given) for p, v, given in values if not p.keyword]
    while positional and (not positional[-1][2] or is_default(*positional[-1][:2])):
        positional.pop()
    args = tuple([_listed(p, v) if given else default_of(p) for p, v, given in positional])
    kwargs = {p.name: v for p, v, given in values if p.keyword and given and not is_default(p, v)}
    return args, kwargs


def _listed(p: Parameter, value: Any) -> Any:
    if "[" in p.type and p.type[-2:] != "r]" and "Tensor" not in p.type:
        if isinstance(value, int):
            return [value]
        return list(value) if value is not None else None
    return value


def overload_of(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> OpOverload:
    """The overload that takes the arguments; the default one where none is known to."""
    for schema in overloads(name):
        positional = [p for p in schema.parameters if not p.keyword]
        known = {p.name for p in schema.parameters}
        if (
            len(args) <= len(positional)
            and known.issuperset(kwargs)
            and all(p.accepts(a) for p, a in zip(positional, args, strict=False))
        ):
            return getattr(operator(name), schema.overload)
    return operator(name).default


# ------------------------------------------------------------------------------------------ other arguments than torch's


def _convolution(given: list, o: dict[str, Any]) -> tuple[str, list, dict]:
    n = given[0].dim() - 2
    stride, padding, dilation = (list(o.get(k, [d])) for k, d in (("stride", 1), ("padding", 0), ("dilation", 1)))
    spread = [v * n if len(v) == 1 else v for v in (stride, padding, dilation)]
    return (
        "convolution",
        [*given[:2], given[2] if len(given) > 2 else None, *spread, False, [0] * n, o.get("groups", 1)],
        {},
    )


def _softmax(given: list, o: dict[str, Any]) -> tuple[None, list, dict]:
    return None, [given[0], o["dim"], False], {}


def _softmax_backward(given: list, o: dict[str, Any]) -> tuple[None, list, dict]:
    return None, [*given, o["dim"], given[1].dtype], {}


def _clone(given: list, o: dict[str, Any]) -> tuple[str, list, dict]:
    return "clone", given, {"memory_format": contiguous_format} if o.get("order") == "C" else {}


def _layer_norm(given: list, o: dict[str, Any]) -> tuple[None, list, dict]:
    input, weight, bias = (*given, None, None)[:3]
    return None, [input, list(o["normalized_shape"]), weight, bias, o.get("eps", 1e-5)], {}


def _embedding(given: list, o: dict[str, Any]) -> tuple[None, list, dict]:
    padding, scaled = o.get("padding_idx"), o.get("scale_grad_by_freq")
    rest = (
        []
        if padding in (None, -1) and not scaled
        else [-1 if padding is None else padding, *([False, True] if scaled else [])]
    )
    return None, [*given, *rest], {}


def _index(given: list, o: dict[str, Any]) -> tuple[None, list, dict]:
    first, *indices = given[0]
    return None, [first, indices], {}


def _index_put(given: list, o: dict[str, Any]) -> tuple[None, list, dict]:
    first, value, *indices = given[0]
    return None, [first, indices, value, *([True] if o.get("accumulate") else [])], {}


def _slice(given: list, o: dict[str, Any]) -> tuple[None, list, dict]:
    step = o.get("step", 1)
    return None, [given[0], o["dim"], o["start"], o["stop"], *([] if step == 1 else [step])], {}


def _view(given: list, o: dict[str, Any]) -> tuple[None, list, dict]:
    shape = o["shape"]
    return None, [given[0], list(shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape)], {}


def _pow_of_number(given: list, o: dict[str, Any]) -> tuple[None, list, dict]:
    return None, [o["base"], given[0]], {}


def _rounded(mode: str) -> Callable:
    return lambda given, o: (None, given, {"rounding_mode": mode})


def _transposed(given: list, o: dict[str, Any]) -> tuple[str, list, dict] | None:
    """A transposed convolution; None where no `output_padding` of torch gives its shape."""
    input, weight = given[:2]
    bias = given[2] if len(given) > 2 else None
    n = input.dim() - 2
    stride, padding, dilation = (list(o.get(k, [d])) for k, d in (("stride", 1), ("padding", 0), ("dilation", 1)))
    steps = [v * n if len(v) == 1 else v for v in (stride, padding, dilation)]
    more = output_padding(input.shape, weight.shape, o["shape"], *steps)
    if more is None:
        return None
    return "convolution", [input, weight, bias, *steps, True, more, o.get("groups", 1)], {}


def output_padding(
    shape: Sequence[int], weight: Sequence[int], result: Sequence[int], stride: Any, padding: Any, dilation: Any
) -> list[int] | None:
    """What a transposed convolution adds to its least result, of (N, K, *) by (K, C/groups, *). None: it cannot."""
    if not all(isinstance(p, int) for p in padding):
        return None
    sizes = zip(shape[2:], weight[2:], result[2:], stride, padding, dilation, strict=True)
    more = [r - ((n - 1) * s - 2 * p + d * (k - 1) + 1) for n, k, r, s, p, d in sizes]
    fits = all(0 <= m < max(s, d) for m, s, d in zip(more, stride, dilation, strict=True))
    return more if fits else None


_SPECIAL: dict[str, Callable[[list, dict[str, Any]], tuple[str | None, list, dict] | None]] = {
    "convolution": _convolution,
    "convolution.input": _transposed,
    "softmax": _softmax,
    "log_softmax": _softmax,
    "softmax_backward": _softmax_backward,
    "log_softmax_backward": _softmax_backward,
    "clone": _clone,
    "native_layer_norm": _layer_norm,
    "embedding": _embedding,
    "index": _index,
    "index_put": _index_put,
    "slice": _slice,
    "view": _view,
    "_unsafe_view": _view,
    "pow.base": _pow_of_number,
    "div.floor": _rounded("floor"),
    "div.trunc": _rounded("trunc"),
    "relu_backward": lambda given, o: (None, [*given, 0], {}),
    "leaky_relu_backward": lambda given, o: (None, [*given, o["slope"], False], {}),
    "embedding_dense_backward": lambda given, o: (
        None,
        [*given, o["shape"][0], o.get("padding_idx", -1), o.get("scale_grad_by_freq", False)],
        {},
    ),
    "spread": lambda given, o: (None, [given[0], list(o["shape"])], {}),
}
