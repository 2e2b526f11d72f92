"""Layers one after the other that become one quantized layer: `torch.ao.nn.intrinsic`, as `fuse_modules` makes them."""

from __future__ import annotations

from typing import Any

from ...core.tensor.tensor import Tensor
from .. import modules as nn
from ..modules.container import Sequential
from ..utils.parametrize import type_before_parametrizations

__all__ = [
    "BNReLU2d", "BNReLU3d", "ConvAdd2d", "ConvAddReLU2d", "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d",
    "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d", "LinearBn1d", "LinearLeakyReLU", "LinearReLU", "LinearTanh",
]  # fmt: skip


class _FusedModule(Sequential):
    """Layers that are quantized as one. `_KINDS`: their classes."""

    _KINDS: tuple[type, ...] = ()

    def _take(self, *layers: Any) -> None:
        kinds = [type_before_parametrizations(m) for m in layers]
        if tuple(kinds) != self._KINDS:
            names = [k.__name__ for k in kinds]
            listed = f"{names[0]} and {names[1]}" if len(names) == 2 else f"{', '.join(names[:-1])}, and {names[-1]}"
            raise AssertionError(f"Incorrect types for input modules: {listed}")
        Sequential.__init__(self, *layers)


class ConvReLU1d(_FusedModule):
    """`nn.Conv1d`, then `nn.ReLU`."""

    _KINDS = (nn.Conv1d, nn.ReLU)

    def __init__(self, conv: Any, relu: Any) -> None:
        self._take(conv, relu)


class ConvReLU2d(_FusedModule):
    """`nn.Conv2d`, then `nn.ReLU`."""

    _KINDS = (nn.Conv2d, nn.ReLU)

    def __init__(self, conv: Any, relu: Any) -> None:
        self._take(conv, relu)


class ConvReLU3d(_FusedModule):
    """`nn.Conv3d`, then `nn.ReLU`."""

    _KINDS = (nn.Conv3d, nn.ReLU)

    def __init__(self, conv: Any, relu: Any) -> None:
        self._take(conv, relu)


class LinearReLU(_FusedModule):
    """`nn.Linear`, then `nn.ReLU`."""

    _KINDS = (nn.Linear, nn.ReLU)

    def __init__(self, linear: Any, relu: Any) -> None:
        self._take(linear, relu)


class LinearLeakyReLU(_FusedModule):
    """`nn.Linear`, then `nn.LeakyReLU`."""

    _KINDS = (nn.Linear, nn.LeakyReLU)

    def __init__(self, linear: Any, leaky_relu: Any) -> None:
        self._take(linear, leaky_relu)


class LinearTanh(_FusedModule):
    """`nn.Linear`, then `nn.Tanh`."""

    _KINDS = (nn.Linear, nn.Tanh)

    def __init__(self, linear: Any, tanh: Any) -> None:
        self._take(linear, tanh)


class ConvBn1d(_FusedModule):
    """`nn.Conv1d`, then `nn.BatchNorm1d`."""

    _KINDS = (nn.Conv1d, nn.BatchNorm1d)

    def __init__(self, conv: Any, bn: Any) -> None:
        self._take(conv, bn)


class ConvBn2d(_FusedModule):
    """`nn.Conv2d`, then `nn.BatchNorm2d`."""

    _KINDS = (nn.Conv2d, nn.BatchNorm2d)

    def __init__(self, conv: Any, bn: Any) -> None:
        self._take(conv, bn)


class ConvBn3d(_FusedModule):
    """`nn.Conv3d`, then `nn.BatchNorm3d`."""

    _KINDS = (nn.Conv3d, nn.BatchNorm3d)

    def __init__(self, conv: Any, bn: Any) -> None:
        self._take(conv, bn)


class ConvBnReLU1d(_FusedModule):
    """`nn.Conv1d`, `nn.BatchNorm1d`, then `nn.ReLU`."""

    _KINDS = (nn.Conv1d, nn.BatchNorm1d, nn.ReLU)

    def __init__(self, conv: Any, bn: Any, relu: Any) -> None:
        self._take(conv, bn, relu)


class ConvBnReLU2d(_FusedModule):
    """`nn.Conv2d`, `nn.BatchNorm2d`, then `nn.ReLU`."""

    _KINDS = (nn.Conv2d, nn.BatchNorm2d, nn.ReLU)

    def __init__(self, conv: Any, bn: Any, relu: Any) -> None:
        self._take(conv, bn, relu)


class ConvBnReLU3d(_FusedModule):
    """`nn.Conv3d`, `nn.BatchNorm3d`, then `nn.ReLU`."""

    _KINDS = (nn.Conv3d, nn.BatchNorm3d, nn.ReLU)

    def __init__(self, conv: Any, bn: Any, relu: Any) -> None:
        self._take(conv, bn, relu)


class BNReLU2d(_FusedModule):
    """`nn.BatchNorm2d`, then `nn.ReLU`."""

    _KINDS = (nn.BatchNorm2d, nn.ReLU)

    def __init__(self, batch_norm: Any, relu: Any) -> None:
        self._take(batch_norm, relu)


class BNReLU3d(_FusedModule):
    """`nn.BatchNorm3d`, then `nn.ReLU`."""

    _KINDS = (nn.BatchNorm3d, nn.ReLU)

    def __init__(self, batch_norm: Any, relu: Any) -> None:
        self._take(batch_norm, relu)


class LinearBn1d(_FusedModule):
    """`nn.Linear`, then `nn.BatchNorm1d`."""

    _KINDS = (nn.Linear, nn.BatchNorm1d)

    def __init__(self, linear: Any, bn: Any) -> None:
        self._take(linear, bn)


class ConvAdd2d(_FusedModule):
    """A convolution, to whose result a second input is added by `add`."""

    def __init__(self, conv: Any, add: Any) -> None:
        super().__init__(conv)
        self.add = add

    def forward(self, x1: Tensor, x2: Tensor) -> Any:  # type: ignore[override]
        return self.add(self[0](x1), x2)


class ConvAddReLU2d(_FusedModule):
    """A convolution, to whose result a second input is added by `add`, then `relu`."""

    def __init__(self, conv: Any, add: Any, relu: Any) -> None:
        super().__init__(conv)
        self.add = add
        self.relu = relu

    def forward(self, x1: Tensor, x2: Tensor) -> Any:  # type: ignore[override]
        return self.relu(self.add(self[0](x1), x2))
