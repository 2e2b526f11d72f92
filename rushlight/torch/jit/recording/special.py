"""Public functions that torch records in a way of their own: conversions, convolutions, pooling, resampling,
indexing.

A way is a function (tracer, public function, arguments, keyword arguments) that runs the call and records it, or
gives NotImplemented for the ordinary way. Public functions that it calls are recorded.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ....core.dispatch.op import OPS
from ....core.tensor.dtype import dtype
from ....core.tensor.tensor import Tensor
from ....nn import functional as F
from ....ops import core_forms
from ..ir.literals import NAMES_OF_TYPES
from . import indexing

__all__ = ["WAYS"]

Way = Callable[[Any, Callable, tuple, dict[str, Any]], Any]


def _arguments(func: Callable, args: tuple, kwargs: dict[str, Any]) -> dict[str, Any]:
    given = inspect.signature(func).bind(*args, **kwargs)
    given.apply_defaults()
    return dict(given.arguments)


# ------------------------------------------------------------------------------------------ sizes, indices


def _size(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    return tracer.size(args[0], kwargs.get("dim", args[1] if len(args) > 1 else None))


def _length(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    tracer.measured(args[0])
    with tracer.off():
        return func(*args)


def _divided(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    return args[0].reciprocal() * args[1]


def _short_time(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """torch pads in Python, by the sizes; the operator takes the padded signal."""
    given = _arguments(func, args, kwargs)
    x, center, mode = given.pop("input"), given.pop("center"), given.pop("pad_mode")
    if center:
        pad, n = given["n_fft"] // 2, x.dim()
        x = x.view([1] * (3 - n) + list(x.size()))
        x = F.pad(x, (pad, pad), mode)
        x = x.view(list(x.size())[-n:])
    return tracer.operator("stft", x, *given.values())


# ------------------------------------------------------------------------------------------ conversions


def _to(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The forms of `to`: a type, a device or both, or another tensor."""
    t, *given = args
    options = {"non_blocking": False, "copy": False, "memory_format": None, **kwargs}
    place, kind = options.pop("device", None), options.pop("dtype", None)
    other = options.pop("other", None)
    for value in given[:2]:
        if isinstance(value, Tensor):
            other = value
        elif isinstance(value, dtype):
            kind = value
        elif isinstance(value, bool):
            return NotImplemented
        elif value is not None:
            place = value
    flags = dict(
        zip(("non_blocking", "copy"), given[2 if place is not None and kind is not None else 1 :], strict=False)
    )
    options |= {k: v for k, v in flags.items() if isinstance(v, bool)}
    rest = (bool(options["non_blocking"]), bool(options["copy"]), options["memory_format"])
    if other is not None:
        return tracer.operator("to", t, other, *rest, overload="other")
    if place is None:
        return (
            t
            if kind is None and not rest[1] and rest[2] is None
            else tracer.operator("to", t, kind or t.dtype, *rest, overload="dtype")
        )
    return tracer.operator("to", t, place, kind or t.dtype, *rest, overload="device")


def _as_type(kind: dtype) -> Way:
    def way(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        form = kwargs.get("memory_format")
        return tracer.operator("to", args[0], kind, False, False, form, overload="dtype")

    return way


def _cpu(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    return tracer.operator(
        "to", args[0], "cpu", args[0].dtype, False, False, kwargs.get("memory_format"), overload="device"
    )


_METHODS_OF_TYPES = {
    "Byte": "byte", "Char": "char", "Short": "short", "Int": "int", "Long": "long", "Half": "half", "Float": "float",
    "Double": "double", "ComplexFloat": "cfloat", "ComplexDouble": "cdouble", "Bool": "bool", "BFloat16": "bfloat16",
}  # fmt: skip


# ------------------------------------------------------------------------------------------ layers


def _convolution(transposed: bool) -> Way:
    def way(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        given = _arguments(func, args, kwargs)
        x, weight, n = given["input"], given["weight"], given["weight"].dim() - 2
        batched = x.dim() == n + 2
        x = x if batched else x.unsqueeze(0)
        sizes = [_spread(given[name], n) for name in ("stride", "padding", "dilation")]
        if isinstance(given["padding"], str):
            result = tracer.operator("_convolution_mode", x, weight, given["bias"], *sizes, given["groups"])
        else:
            more = _spread(given.get("output_padding", 0), n)
            rest = (transposed, more, given["groups"], False, False, True, True)
            result = tracer.operator("_convolution", x, weight, given["bias"], *sizes, *rest, overload="default")
        return result if batched else result.squeeze(0)

    return way


def _spread(value: Any, n: int) -> Any:
    if isinstance(value, str):
        return value
    values = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    return values * n if len(values) == 1 else values


def _pool(name: str, n: int) -> Way:
    def way(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        given = _arguments(func, args, kwargs)
        given.pop("_stacklevel", None)
        x, indices = given.pop("input"), given.pop("return_indices", False)
        lists = {
            k: _spread(v, n)
            for k, v in given.items()
            if k in ("kernel_size", "stride", "padding", "dilation") and v is not None
        }
        lists.setdefault("stride", ())
        values = [x, *[lists.get(k, given.get(k)) for k in given]]
        return tracer.operator(f"{name}_with_indices" if indices and n > 1 else name, *values)

    return way


def _channel_dropout(n: int) -> Way:
    def way(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        given = _arguments(func, args, kwargs)
        x, end = given["input"], "_" if given["inplace"] else ""
        alone = x.dim() == n + 1 and n != 2
        found = tracer.operator("feature_dropout" + end, x.unsqueeze(0) if alone else x, given["p"], given["training"])
        return (found.squeeze_(0) if end else found.squeeze(0)) if alone else found

    return way


def _adaptive_max(n: int) -> Way:
    def way(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        given = _arguments(func, args, kwargs)
        x, size = given["input"], _spread(given["output_size"], n)
        found = tracer.operator(
            f"adaptive_max_pool{n}d", x, [x.size(i - n) if s is None else s for i, s in enumerate(size)]
        )
        return found if given.get("return_indices", True) else found[0]

    return way


def _adaptive(n: int) -> Way:
    def way(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
        given = _arguments(func, args, kwargs)
        x, size = given["input"], _spread(given["output_size"], n)
        size = [x.size(i - n) if s is None else s for i, s in enumerate(size)]
        return tracer.operator(f"adaptive_avg_pool{n}d", x, size)

    return way


_UPSAMPLED = {
    "nearest": "upsample_nearest{}d", "nearest-exact": "_upsample_nearest_exact{}d", "linear": "upsample_linear{}d",
    "bilinear": "upsample_bilinear{}d", "trilinear": "upsample_trilinear{}d", "bicubic": "upsample_bicubic{}d",
}  # fmt: skip


def _scaled(size: Any, scale: float) -> Any:
    """A size times a factor, cut to a whole number."""
    return size * int(scale) if scale == int(scale) else (size * scale).floor().long()


def _interpolate(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    given = _arguments(F.interpolate, args, kwargs)
    x, mode, size, scales = given["input"], given["mode"], given["size"], given["scale_factor"]
    n = x.dim() - 2
    if scales is not None and (given["recompute_scale_factor"] or mode == "area"):
        size, scales = [_scaled(x.size(i + 2), s) for i, s in enumerate(_spread(scales, n))], None
    if mode == "area":
        return tracer.operator(f"adaptive_avg_pool{n}d", x, list(_spread(size, n)))
    if mode not in _UPSAMPLED:
        return NotImplemented
    name = _UPSAMPLED[mode].format(n) + ("_aa" if given["antialias"] else "")
    size = None if size is None else list(_spread(size, n))
    scales = None if scales is None else [float(s) for s in _spread(scales, n)]
    aligned = () if mode.startswith("nearest") else (bool(given["align_corners"]),)
    name = "_" + name if given["antialias"] else name
    return tracer.operator(name, x, size, *aligned, scales, overload="vec")


def _grid_sample(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    given = _arguments(func, args, kwargs)
    mode = ("bilinear", "nearest", "bicubic").index(given["mode"])
    padding = ("zeros", "border", "reflection").index(given["padding_mode"])
    return tracer.operator("grid_sampler", given["input"], given["grid"], mode, padding, bool(given["align_corners"]))


def _affine_grid(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    given = _arguments(func, args, kwargs)
    return tracer.operator("affine_grid_generator", given["theta"], list(given["size"]), bool(given["align_corners"]))


def _tensordot(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    given = _arguments(OPS["tensordot"], args, kwargs)
    a, b, dims = given.get("a", given.get("input")), given.get("b", given.get("other")), given["dims"]
    if isinstance(dims, int):
        dims = list(range(-dims, 0)), list(range(dims))
    if not isinstance(dims, (tuple, list)) or not isinstance(dims[0], (tuple, list)):
        return NotImplemented
    return tracer.operator("tensordot", a, b, list(dims[0]), list(dims[1]))


def _cdist(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    given = _arguments(OPS["cdist"], args, kwargs)
    modes = {
        "use_mm_for_euclid_dist_if_necessary": None,
        "use_mm_for_euclid_dist": 1,
        "donot_use_mm_for_euclid_dist": 2,
    }
    return tracer.operator("cdist", given["x1"], given["x2"], given["p"], modes[given["compute_mode"]])


def _einsum(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    (equation, *tensors), _ = OPS["einsum"].arguments_as_told(args, kwargs)
    return tracer.operator("einsum", equation, tensors, None)


def _unique(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    given = _arguments(OPS["unique"], args, kwargs)
    x, ordered, inverse, counts, dim = given.values()
    if dim is not None:
        return NotImplemented
    found = tracer.operator("_unique2", x, ordered, inverse, counts)
    wanted = (True, inverse, counts)
    return found[0] if not inverse and not counts else tuple(t for t, asked in zip(found, wanted, strict=True) if asked)


def _nonzero(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    given = _arguments(OPS["nonzero"], args, kwargs)
    return tuple(tracer.operator("nonzero_numpy", given["input"])) if given["as_tuple"] else NotImplemented


def _embedding_bag(tracer: Any, func: Callable, args: tuple, kwargs: dict[str, Any]) -> Any:
    """By the rows of the weight: bags of a matrix are its rows; others begin at their offsets."""
    if func is core_forms.embedding_bag:
        return NotImplemented
    given = _arguments(F.embedding_bag, args, kwargs)
    x, weight, offsets, mode = (given[name] for name in ("input", "weight", "offsets", "mode"))
    padding, last = given["padding_idx"], x.dim() == 1 and given["include_last_offset"]
    if given["max_norm"] is not None or given["scale_grad_by_freq"] or given["sparse"]:
        return NotImplemented
    rows = F.embedding(x, weight)
    if given["per_sample_weights"] is not None:
        rows = rows * given["per_sample_weights"].unsqueeze(-1)
    skipped = None if padding is None else x == padding % weight.size(0)
    places = None if x.dim() == 2 else OPS["arange"](x.size(0), device=x.device)
    if last:
        beyond = places >= offsets[-1]
        skipped, offsets = beyond if skipped is None else skipped | beyond, offsets[:-1]
    if skipped is not None:
        rows = rows.masked_fill(skipped.unsqueeze(-1), float("-inf") if mode == "max" else 0.0)
    return _bags_of_rows(rows, skipped, mode) if places is None else _bags(rows, places, offsets, skipped, mode)


def _bags_of_rows(rows: Any, skipped: Any, mode: str) -> Any:
    """Of each row of a matrix of indices."""
    if mode == "sum" or (skipped is None and mode == "mean"):
        return rows.sum(1) if mode == "sum" else rows.mean(1)
    if skipped is None:
        return rows.amax(1)
    counts = (~skipped).sum(1, keepdim=True)
    return rows.amax(1).masked_fill(counts == 0, 0.0) if mode == "max" else rows.sum(1) / counts.clamp(min=1)


def _bags(rows: Any, places: Any, offsets: Any, skipped: Any, mode: str) -> Any:
    """Of the indices from each offset to the next."""
    bags = (places.unsqueeze(1) >= offsets.unsqueeze(0)).sum(1) - 1
    empty = rows.new_zeros((offsets.size(0), rows.size(1)))
    ones = rows.new_ones((rows.size(0),)) if skipped is None else (~skipped).to(rows.dtype)
    if mode == "sum":
        return empty.index_add(0, bags, rows)
    counts = rows.new_zeros((offsets.size(0),)).index_add(0, bags, ones).unsqueeze(1)
    if mode == "max":
        most = empty.scatter_reduce(0, bags.unsqueeze(1).expand_as(rows), rows, "amax", include_self=False)
        return most if skipped is None else most.masked_fill(counts == 0, 0.0)
    return empty.index_add(0, bags, rows) / counts.clamp(min=1)


WAYS: dict[str, Way] = {
    "size": _size,
    "numel": lambda tracer, func, args, kwargs: tracer.numel(args[0]),
    "nelement": lambda tracer, func, args, kwargs: tracer.numel(args[0]),
    "__len__": _length,
    "__getitem__": lambda tracer, func, args, kwargs: indexing.get(tracer, *args),
    "__setitem__": lambda tracer, func, args, kwargs: indexing.put(tracer, *args),
    "__rtruediv__": _divided,
    "__rdiv__": _divided,
    "stft": _short_time,
    "to": _to,
    "cpu": _cpu,
    **{
        _METHODS_OF_TYPES[shown]: _as_type(kind) for kind, shown in NAMES_OF_TYPES.items() if shown in _METHODS_OF_TYPES
    },
    **{f"conv{n}d": _convolution(False) for n in (1, 2, 3)},
    **{f"conv_transpose{n}d": _convolution(True) for n in (1, 2, 3)},
    **{f"{kind}_pool{n}d": _pool(f"{kind}_pool{n}d", n) for kind in ("max", "avg") for n in (1, 2, 3)},
    **{f"adaptive_avg_pool{n}d": _adaptive(n) for n in (1, 2, 3)},
    **{f"adaptive_max_pool{n}d": _adaptive_max(n) for n in (1, 2, 3)},
    **{f"dropout{n}d": _channel_dropout(n) for n in (1, 2, 3)},
    "interpolate": _interpolate,
    "upsample": _interpolate,
    "grid_sample": _grid_sample,
    "affine_grid": _affine_grid,
    "embedding_bag": _embedding_bag,
    "tensordot": _tensordot,
    "einsum": _einsum,
    "cdist": _cdist,
    "unique": _unique,
    "nonzero": _nonzero,
}
