"""Operators of torch's schemas run by Rushlight's functions.

`runner(schema)` takes a value for each parameter. The function is the one of that name, as a method or a public
function, called as Python calls it; `_OWN` has those that take their arguments in another way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from ....core.dispatch.aten.operators import functions as of_dispatcher
from ....core.dispatch.aten.run import default_of
from ....core.dispatch.extension_points import operators_of_levels
from ....core.dispatch.op import OPS
from ....core.tensor.tensor import Tensor
from ....nn import functional as F
from ....nn.quantization.static import library as library  # whose operators programs call
from ....ops import aten_forms as aten_forms
from ... import _lazy
from ... import library as registry
from . import functional_rules
from .functional_rules import NAMESPACES
from .literals import object_of
from .schemas import Parameter, Schema, element_of, is_list

__all__ = ["is_default", "runner"]


@cache
def runner(schema: Schema) -> Callable[..., Any]:
    """The function that runs an operator. Raises NotImplementedError where there is none."""
    if schema.name.startswith("quantized::"):
        assert operators_of_levels.value is not None
        return _adapted(schema, operators_of_levels.value[schema.name.partition("::")[2]])
    if "::" in schema.name:
        return _called_as_in_python(schema, lambda *args, **kwargs: _registered(schema.name)(*args, **kwargs))
    own = _OWN.get(f"{schema.name}.{schema.overload}") or _OWN.get(schema.name)
    if own is not None:
        return _adapted(schema, own)
    rule = functional_rules.by_operator().get(schema.name.rstrip("_"))
    if rule is not None:
        names = [p.name for p in schema.parameters]
        inplace = {"inplace": True} if schema.name.endswith("_") else {}
        return _adapted(
            schema, lambda *values: functional_rules.run(rule, dict(zip(names, values, strict=True)) | inplace)
        )
    function = _function(schema)
    if function is None:
        raise NotImplementedError(f"torch.jit: the operator aten::{schema.name} is not implemented in Rushlight")
    return _called_as_in_python(schema, function)


def _registered(name: str) -> Callable:
    """The operator that a program has registered under namespace::name."""
    found = registry.registered(*name.split("::"))
    if found is None:
        raise NotImplementedError(f"torch.jit: the operator {name} is not registered")
    return found


def _function(schema: Schema) -> Callable | None:
    name = schema.name
    if name in of_dispatcher:
        return of_dispatcher[name]
    space, _, rest = name.partition("_")
    if space == "special":
        return OPS.get(f"special.{rest}")
    if space in NAMESPACES:
        return getattr(NAMESPACES[space], rest, None)
    first = schema.parameters[0].name if schema.parameters else ""
    if first == "self":
        member = getattr(Tensor, name, None)
        if callable(member):
            return member
        if member is not None:
            return member.fget
    found = OPS.get(name) or getattr(F, name, None)
    if found is None and name.endswith("_") and hasattr(F, name[:-1]):
        return lambda *args, **kwargs: getattr(F, name[:-1])(*args, **kwargs, inplace=True)
    if found is None and name in _lazy.NAMES:
        found = _lazy.function(name)
    return found or getattr(Tensor, name, None)


def _converted(p: Parameter, value: Any) -> Any:
    if value is None:
        return None
    if is_list(p.type):
        if not isinstance(value, (list, tuple)):
            value = [value]
        length = p.type.rstrip("?")[:-1].partition("[")[2]
        return list(value) if element_of(p.type).startswith("Tensor") or length else tuple(value)
    return object_of(p.type.rstrip("?"), value)


def _adapted(schema: Schema, function: Callable) -> Callable:
    parameters = schema.parameters
    return lambda *values: function(*[_converted(p, v) for p, v in zip(parameters, values, strict=True)])


def _called_as_in_python(schema: Schema, function: Callable) -> Callable:
    """The function with the arguments that are not their defaults, keyword arguments by their names."""
    parameters = schema.parameters

    def run(*values: Any) -> Any:
        given = [(p, _converted(p, v)) for p, v in zip(parameters, values, strict=True)]
        positional = [(p, v) for p, v in given if not p.keyword]
        while positional and is_default(*positional[-1]):
            positional.pop()
        named = {p.name: v for p, v in given if p.keyword and v is not None and not is_default(p, v)}
        return function(*[v for _, v in positional], **named)

    return run


def is_default(p: Parameter, value: Any) -> bool:
    """Whether an argument is the default of its parameter."""
    if p.default is None:
        return False
    if value is None or isinstance(value, Tensor):
        return value is None and p.default == "None"
    default = _converted(p, default_of(p))
    if isinstance(value, (list, tuple)):
        return isinstance(default, (list, tuple)) and list(value) == list(default)
    return type(value) is type(default) and value == default


# ------------------------------------------------------------------------------------ other arguments than Python's


def _convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, *flags):
    n = weight.dim() - 2
    if transposed:
        return OPS[f"conv_transpose{n}d"](input, weight, bias, stride, padding, output_padding, groups, dilation)
    return OPS[f"conv{n}d"](input, weight, bias, stride, padding, dilation, groups)


def _convolution_mode(input, weight, bias, stride, padding, dilation, groups):
    return OPS[f"conv{weight.dim() - 2}d"](input, weight, bias, stride, padding, dilation, groups)


def _pooled(name: str, indices: bool = False) -> Callable:
    def run(self, kernel_size, stride, *rest):
        extra = {"return_indices": True} if indices else {}
        return getattr(F, name)(self, tuple(kernel_size), tuple(stride) or None, *rest, **extra)

    return run


def _adaptive_max_pool(n: int) -> Callable:
    return lambda self, size: getattr(F, f"adaptive_max_pool{n}d")(self, tuple(size), True)


def _to_device(self, device, dtype, non_blocking, copy, memory_format):
    return self.to(device, dtype, non_blocking=non_blocking, copy=copy, **_format(memory_format))


def _to_dtype(self, dtype, non_blocking, copy, memory_format):
    return self.to(dtype, non_blocking=non_blocking, copy=copy, **_format(memory_format))


def _to_layout(self, dtype, layout, device, pin_memory, non_blocking, copy, memory_format):
    options = {k: v for k, v in (("dtype", dtype), ("device", device)) if v is not None}
    return self.to(**options, non_blocking=non_blocking, copy=copy, **_format(memory_format))


def _to_other(self, other, non_blocking, copy, memory_format):
    return self.to(other, non_blocking=non_blocking, copy=copy, **_format(memory_format))


def _to_prim(self, *args):
    *given, non_blocking, copy = args
    options = [object_of("ScalarType", v) if type(v) is int else v for v in given if v is not None]
    return self.to(*options, non_blocking=non_blocking, copy=copy)


def _format(memory_format: Any) -> dict[str, Any]:
    return {} if memory_format is None else {"memory_format": memory_format}


def _upsampled(mode: str, antialias: bool = False) -> Callable:
    def run(input, output_size, *rest):
        aligned, scales = (None, *rest) if len(rest) == 1 else rest
        given = {"size": tuple(output_size)} if output_size is not None else {"scale_factor": tuple(scales)}
        return F.interpolate(input, mode=mode, align_corners=aligned, antialias=antialias, **given)

    return run


def _grid_sampled(input, grid, mode, padding_mode, align_corners):
    modes, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return F.grid_sample(input, grid, modes[mode], paddings[padding_mode], align_corners)


def _unique(self, sorted, return_inverse, return_counts):
    found = OPS["unique"](self, sorted, True, True)
    empty = self.new_empty(0, dtype=found[1].dtype)
    return found[0], found[1] if return_inverse else empty, found[2] if return_counts else empty


def _nll_loss(self, target, weight, reduction, ignore_index):
    kind = functional_rules.REDUCTIONS[reduction]
    return F.nll_loss(self, target, weight, ignore_index=ignore_index, reduction=kind)


def _cdist(x1, x2, p, compute_mode):
    modes = "use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist"
    return OPS["cdist"](x1, x2, p, modes[compute_mode or 0])


def _feature_dropout(inplace: bool) -> Callable:
    def run(input, p, train):
        if input.dim() not in (3, 4, 5):
            raise NotImplementedError(
                f"aten::feature_dropout of {input.dim()} dimensions is not implemented in Rushlight"
            )
        return getattr(F, f"dropout{input.dim() - 2}d")(input, p, train, inplace)

    return run


def _filled(self, value):
    return self.fill_(value)


def _padded(mode: str) -> Callable:
    return lambda self, padding: F.pad(self, tuple(padding), mode)


def _int(t: Any) -> int:
    return int(t.item()) if isinstance(t, Tensor) else int(t)


def _short_time(self: Tensor, n_fft: int, hop: Any, size: Any, window: Any, *rest: Any) -> Tensor:
    """The overload whose signal was padded before."""
    return Tensor.stft(self, n_fft, hop, size, window, False, "reflect", *rest)


_OWN: dict[str, Callable] = {
    "size.int": lambda self, dim: self.size(dim),
    "size.default": lambda self: list(self.shape),
    "stft.default": _short_time,
    "sym_size.int": lambda self, dim: self.size(dim),
    "numel": Tensor.numel,
    "dim": Tensor.dim,
    "len": len,
    "__getitem__": lambda container, key: container[key],
    "Int": _int,
    "IntImplicit": _int,
    "Float": lambda t: float(t.item() if isinstance(t, Tensor) else t),
    "FloatImplicit": lambda t: float(t.item()),
    "Bool": lambda t: bool(t.item() if isinstance(t, Tensor) else t),
    "ScalarImplicit": lambda t: t.item(),
    "item": Tensor.item,
    "_convolution": _convolution,
    "_convolution_mode": _convolution_mode,
    "convolution": _convolution,
    **{f"{kind}_pool{n}d": _pooled(f"{kind}_pool{n}d") for kind in ("max", "avg") for n in (1, 2, 3)},
    **{f"max_pool{n}d_with_indices": _pooled(f"max_pool{n}d", indices=True) for n in (1, 2, 3)},
    **{f"adaptive_max_pool{n}d": _adaptive_max_pool(n) for n in (1, 2, 3)},
    "_adaptive_avg_pool2d": F.adaptive_avg_pool2d,
    "_adaptive_avg_pool3d": F.adaptive_avg_pool3d,
    "to.device": _to_device,
    "to.dtype": _to_dtype,
    "to.dtype_layout": _to_layout,
    "to.other": _to_other,
    "to.prim_Device": _to_prim,
    "to.prim_dtype": _to_prim,
    "numpy_T": lambda self: self.T,
    "matrix_H": lambda self: self.H,
    "mT": lambda self: self.mT,
    "mH": lambda self: self.mH,
    "real": lambda self: self.real,
    "imag": lambda self: self.imag,
    "rsub": lambda self, other, alpha: other - self if alpha == 1 else other - self * alpha,
    "slice.Tensor": lambda self, dim, start, end, step: of_dispatcher["slice"](self, dim, start, end, step),
    "fill_": _filled,
    "nll_loss": _nll_loss,
    "nll_loss2d": _nll_loss,
    "cdist": _cdist,
    "feature_dropout": _feature_dropout(False),
    "feature_dropout_": _feature_dropout(True),
    "expand": lambda self, size, implicit: self.expand(size),
    "split.Tensor": lambda self, size, dim: OPS["split"](self, size, dim),
    "split.sizes": lambda self, sizes, dim: OPS["split"](self, list(sizes), dim),
    "split_with_sizes": lambda self, sizes, dim: OPS["split"](self, list(sizes), dim),
    "einsum": lambda equation, tensors, path: OPS["einsum"](equation, *tensors),
    "meshgrid": lambda tensors, indexing="ij": OPS["meshgrid"](*tensors, indexing=indexing),
    "block_diag": lambda tensors: OPS["block_diag"](*tensors),
    "broadcast_tensors": lambda tensors: OPS["broadcast_tensors"](*tensors),
    "cartesian_prod": lambda tensors: OPS["cartesian_prod"](*tensors),
    "grid_sampler": _grid_sampled,
    "affine_grid_generator": lambda theta, size, aligned: F.affine_grid(theta, list(size), aligned),
    "_unique2": _unique,
    "nonzero_numpy": lambda self: list(self.nonzero(as_tuple=True)),
    **{f"upsample_nearest{n}d.vec": _upsampled("nearest") for n in (1, 2, 3)},
    **{f"_upsample_nearest_exact{n}d.vec": _upsampled("nearest-exact") for n in (1, 2, 3)},
    "upsample_linear1d.vec": _upsampled("linear"),
    "upsample_bilinear2d.vec": _upsampled("bilinear"),
    "upsample_trilinear3d.vec": _upsampled("trilinear"),
    "upsample_bicubic2d.vec": _upsampled("bicubic"),
    "_upsample_bilinear2d_aa.vec": _upsampled("bilinear", True),
    "_upsample_bicubic2d_aa.vec": _upsampled("bicubic", True),
    **{f"reflection_pad{n}d": _padded("reflect") for n in (1, 2, 3)},
    **{f"replication_pad{n}d": _padded("replicate") for n in (1, 2, 3)},
    "_cast_Float": lambda self, non_blocking: self.float(),
    "_cast_Long": lambda self, non_blocking: self.long(),
    "tensordot": lambda self, other, a, b: OPS["tensordot"](self, other, (list(a), list(b))),
    "type_as": lambda self, other: self.type_as(other),
    "dequantize": lambda self: self.dequantize(),
    "int_repr": lambda self: self.int_repr(),
    "q_scale": lambda self: self.q_scale(),
    "q_zero_point": lambda self: self.q_zero_point(),
}  # fmt: skip
