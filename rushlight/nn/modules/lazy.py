"""Layers that learn their input size at the first call.

Until then their parameters are `UninitializedParameter`s. The first call, or loading a state, gives them their shapes,
draws their values, and makes the module one of the ordinary class.
"""

from __future__ import annotations

from typing import Any

from rushlight import ops
from rushlight.core.dispatch.docs import like
from rushlight.core.dispatch.mode import no_grad
from rushlight.core.tensor.dtype import int64
from rushlight.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

from .batchnorm import BatchNorm1d, BatchNorm2d, BatchNorm3d
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .instancenorm import InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from .linear import Linear
from .module import Module

__all__ = [
    "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "LazyConv1d", "LazyConv2d", "LazyConv3d",
    "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d",
    "LazyInstanceNorm3d", "LazyLinear", "LazyModuleMixin",
]  # fmt: skip


class LazyModuleMixin(Module):
    """Gives a module parameters of unknown shape. A subclass comes before the module's class, names `cls_to_become`,
    and writes `initialize_parameters(input)`, which calls `materialize` on them.
    """

    cls_to_become: type | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._initialize_hook = self.register_forward_pre_hook(_infer, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters their shapes by an input of the module."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet."""
        return any(is_lazy(t) for t in (*self._parameters.values(), *self._buffers.values()))

    def reset_parameters(self) -> None:
        """Re-initialise the parameters, if they have shapes."""
        if not self.has_uninitialized_params() and self._input_size():
            super().reset_parameters()  # type: ignore[misc]

    def _input_size(self) -> int:
        """The input size, 0 while it is not known."""
        return 0

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        lazy = {n: t for n, t in (*self._parameters.items(), *self._buffers.items()) if is_lazy(t)}
        names = [n for n, t in (*self._parameters.items(), *self._buffers.items()) if t is not None]
        for table in (self._parameters, self._buffers):
            for name in lazy.keys() & table.keys():
                table[name] = None
        super()._save_to_state_dict(destination, prefix, keep_vars)
        for name, t in lazy.items():
            table: Any = self._parameters if isinstance(t, UninitializedParameter) else self._buffers
            table[name] = t
            destination[prefix + name] = t
        for name in [prefix + n for n in names] if lazy else ():  # in the order in which they were registered
            if name in destination:
                destination[name] = destination.pop(name)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any) -> None:
        for name, t in (*self._parameters.items(), *self._buffers.items()):
            given: Any = state_dict.get(prefix + name)
            if is_lazy(t) and given is not None and not is_lazy(given):
                with no_grad():
                    t.materialize(given.shape)  # type: ignore[union-attr]
        super()._load_from_state_dict(state_dict, prefix, *args)


def _infer(module: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    """Before the first call: give the parameters their shapes and the module its class."""
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
    module._initialize_hook.remove()
    del module._initialize_hook
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` whose `in_features` is the last dimension of its first input."""

    cls_to_become = Linear

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def _input_size(self) -> int:
        return self.in_features

    def initialize_parameters(self, input: Any) -> None:
        if not self.has_uninitialized_params():
            if self.in_features == 0:
                self.in_features = input.shape[-1]
            return
        with no_grad():
            self.in_features = input.shape[-1]
            self.weight.materialize((self.out_features, self.in_features))  # type: ignore[attr-defined]
            if self.bias is not None:
                self.bias.materialize((self.out_features,))  # type: ignore[attr-defined]
            self.reset_parameters()


# ---------------------------------------------------------------------------------------------- convolutions


class _LazyConvolution(LazyModuleMixin):
    """A convolution whose `in_channels` is the channel dimension of its first input."""

    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    groups: int
    transposed: bool
    weight: Any
    bias: Any

    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **options: Any) -> None:
        names = _TRANSPOSED if issubclass(type(self), (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)) else _PLAIN
        options = {**dict(zip(names, args, strict=False)), **options}
        if len(args) > len(names):
            raise TypeError(f"{type(self).__name__} takes at most {len(names) + 2} arguments")
        bias = options.pop("bias", True)
        device, dtype = options.pop("device", None), options.pop("dtype", None)
        super().__init__(0, 0, kernel_size, bias=False, **options)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def _input_size(self) -> int:
        return self.in_channels

    def initialize_parameters(self, input: Any, *args: Any, **kwargs: Any) -> None:
        if not self.has_uninitialized_params():
            return
        spatial = len(self.kernel_size)
        if input.dim() not in (spatial + 1, spatial + 2):
            raise RuntimeError(
                f"Expected {spatial + 1}D (unbatched) or {spatial + 2}D (batched) input to {type(self).__name__}, but got "
                f"input of size: {tuple(input.shape)}"
            )
        self.in_channels = input.shape[-spatial - 1]
        if self.in_channels % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        outer, inner = self.out_channels, self.in_channels
        if self.transposed:
            outer, inner = inner, outer
        with no_grad():
            self.weight.materialize((outer, inner // self.groups, *self.kernel_size))
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()


_PLAIN = ("stride", "padding", "dilation", "groups", "bias", "padding_mode", "device", "dtype")
_TRANSPOSED = (
    "stride", "padding", "output_padding", "groups", "bias", "dilation", "padding_mode", "device", "dtype",
)  # fmt: skip


# ---------------------------------------------------------------------------------------------- normalizations


class _LazyNormalization(LazyModuleMixin):
    """A normalization whose `num_features` is the second dimension of its first input."""

    num_features: int
    affine: bool
    track_running_stats: bool

    def __init__(
        self, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True, track_running_stats: bool = True,
        device: Any = None, dtype: Any = None, *, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if self.affine:
            self.weight = UninitializedParameter(device=device, dtype=dtype)
            if bias:
                self.bias = UninitializedParameter(device=device, dtype=dtype)
        if self.track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = ops.tensor(0, dtype=int64)

    def _input_size(self) -> int:
        return self.num_features

    def initialize_parameters(self, input: Any) -> None:
        if not self.has_uninitialized_params():
            return
        self.num_features = input.shape[1]
        for t in (*self._parameters.values(), *self._buffers.values()):
            if is_lazy(t):
                t.materialize((self.num_features,))  # type: ignore[union-attr]
        self.reset_parameters()


def _lazy(base: type, mixin: type, **members: Any) -> Any:
    name = "Lazy" + base.__name__
    text = f"A `{base.__name__}` that learns its input size at the first call."
    doc = like(base, name, text, without=("Raises:", ">>>"))
    return type(name, (mixin, base), {"__module__": __name__, "__doc__": doc, "cls_to_become": base, **members})


LazyConv1d, LazyConv2d, LazyConv3d = (_lazy(c, _LazyConvolution) for c in (Conv1d, Conv2d, Conv3d))
LazyConvTranspose1d, LazyConvTranspose2d, LazyConvTranspose3d = (
    _lazy(c, _LazyConvolution) for c in (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)
)
LazyBatchNorm1d, LazyBatchNorm2d, LazyBatchNorm3d = (
    _lazy(c, _LazyNormalization) for c in (BatchNorm1d, BatchNorm2d, BatchNorm3d)
)
LazyInstanceNorm1d, LazyInstanceNorm2d, LazyInstanceNorm3d = (
    _lazy(c, _LazyNormalization) for c in (InstanceNorm1d, InstanceNorm2d, InstanceNorm3d)
)
