"""Which `QConfig` each operator and layer of a traced model has: `torch.ao.quantization.qconfig_mapping`."""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Any

from ... import ops
from .. import functional as F
from .. import modules as nn
from .fake_quantize import FixedQParamsFakeQuantize, default_weight_fake_quant
from .histogram import HistogramObserver
from .observers import MinMaxObserver, QConfig, default_placeholder_observer, default_weight_observer
from .prepare import get_default_qat_qconfig, get_default_qconfig
from .range_observers import (
    ReuseInputObserver,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
)

__all__ = [
    "QConfigMapping", "default_quint8_weight_qconfig", "default_reuse_input_qconfig", "get_default_qat_qconfig_mapping",
    "get_default_qconfig_mapping",
]  # fmt: skip

default_reuse_input_qconfig = QConfig(activation=ReuseInputObserver, weight=NotImplemented)
default_quint8_weight_qconfig = QConfig(activation=HistogramObserver, weight=MinMaxObserver)

_STYLES = (
    "global_qconfig", "object_type_qconfigs", "module_name_regex_qconfigs", "module_name_qconfigs",
    "module_name_object_type_order_qconfigs",
)  # fmt: skip


class QConfigMapping:
    """The `QConfig` of each operator; of several that apply the one that is set by the method listed last:

    `set_global`, `set_object_type` (a class of layers, a function, a method's name), `set_module_name_regex`,
    `set_module_name`, `set_module_name_object_type_order` (the n-th call of a function in a module). None: not quantized.
    """

    def __init__(self) -> None:
        self.global_qconfig: Any = None
        self.object_type_qconfigs: OrderedDict[Any, Any] = OrderedDict()
        self.module_name_regex_qconfigs: OrderedDict[str, Any] = OrderedDict()
        self.module_name_qconfigs: OrderedDict[str, Any] = OrderedDict()
        self.module_name_object_type_order_qconfigs: OrderedDict[tuple, Any] = OrderedDict()

    def set_global(self, global_qconfig: Any) -> QConfigMapping:
        """The `QConfig` of whatever has no other."""
        self.global_qconfig = global_qconfig
        return self

    def set_object_type(self, object_type: Any, qconfig: Any) -> QConfigMapping:
        """The `QConfig` of a class of layers, of a function, or of methods of a name."""
        self.object_type_qconfigs[object_type] = qconfig
        return self

    def set_module_name_regex(self, module_name_regex: str, qconfig: Any) -> QConfigMapping:
        """The `QConfig` of modules whose name the expression matches; the first that does counts."""
        self.module_name_regex_qconfigs[module_name_regex] = qconfig
        return self

    def set_module_name(self, module_name: str, qconfig: Any) -> QConfigMapping:
        """The `QConfig` of a module, by its name in the model, and of what is in it."""
        self.module_name_qconfigs[module_name] = qconfig
        return self

    def set_module_name_object_type_order(
        self, module_name: str, object_type: Any, index: int, qconfig: Any
    ) -> QConfigMapping:
        """The `QConfig` of the call number `index` of a function, or layer of a class, in a module."""
        self.module_name_object_type_order_qconfigs[module_name, object_type, index] = qconfig
        return self

    def to_dict(self) -> dict[str, Any]:
        """The same as a dict of lists."""
        ordered = self.module_name_object_type_order_qconfigs
        return {
            "": self.global_qconfig,
            "object_type": list(self.object_type_qconfigs.items()),
            "module_name_regex": list(self.module_name_regex_qconfigs.items()),
            "module_name": list(self.module_name_qconfigs.items()),
            "module_name_object_type_order": [(*k, v) for k, v in ordered.items()],
        }

    @classmethod
    def from_dict(cls, qconfig_dict: dict[str, Any]) -> QConfigMapping:
        """A mapping of what `to_dict` gives; each key may be missing."""
        made = cls().set_global(qconfig_dict.get(""))
        for key, add in (
            ("object_type", made.set_object_type), ("module_name_regex", made.set_module_name_regex),
            ("module_name", made.set_module_name), ("module_name_object_type_order", made.set_module_name_object_type_order),
        ):  # fmt: skip
            for entry in qconfig_dict.get(key, []):
                add(*entry)
        return made

    def of(self, path: str, kind: Any, place: int) -> Any:
        """The `QConfig` of a call in the module at `path`, of the function or layers `kind`, the call number `place`."""
        ordered = self.module_name_object_type_order_qconfigs
        if (path, kind, place) in ordered:
            return ordered[path, kind, place]
        for name in _paths(path):
            if name in self.module_name_qconfigs:
                return self.module_name_qconfigs[name]
        for expression, qconfig in self.module_name_regex_qconfigs.items():
            if re.match(expression, path):
                return qconfig
        return self.object_type_qconfigs.get(kind, self.global_qconfig)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for style in _STYLES:
            value = getattr(self, style)
            lines.append(f" {style}")
            entries = value.items() if isinstance(value, OrderedDict) else ()
            lines += [f"  {key}: {qconfig}" for key, qconfig in entries] or [f"  {value}"]
        return "\n".join(lines) + "\n)"


def _paths(path: str) -> list[str]:
    """'a.b.c', 'a.b', 'a'"""
    parts = path.split(".")
    return [".".join(parts[:i]) for i in range(len(parts), 0, -1)]


_OF_0_TO_1 = (
    nn.Hardsigmoid,
    F.hardsigmoid,
    "hardsigmoid",
    "hardsigmoid_",
    nn.Sigmoid,
    ops.sigmoid,
    "sigmoid",
    "sigmoid_",
)
FIXED: dict[Any, Any] = {
    **dict.fromkeys((*_OF_0_TO_1, nn.Softmax), default_fixed_qparams_range_0to1_observer),
    **dict.fromkeys((nn.Tanh, ops.tanh, "tanh", "tanh_"), default_fixed_qparams_range_neg1to1_observer),
}  # what has results of a known range


def _default_mapping(is_qat: bool, backend: str, version: int) -> QConfigMapping:
    qconfig = (get_default_qat_qconfig if is_qat else get_default_qconfig)(backend, version)
    weight: Any = default_weight_fake_quant if is_qat else default_weight_observer
    has_channels = backend not in ("fbgemm", "x86")  # those take no scale for each channel of transposed convolutions
    transposed = qconfig if has_channels else QConfig(qconfig.activation, weight)
    with_float_weight = QConfig(qconfig.activation, default_placeholder_observer)
    made = QConfigMapping().set_global(qconfig).set_object_type("reshape", default_reuse_input_qconfig)
    for n in (1, 2, 3):
        made.set_object_type(getattr(nn, f"ConvTranspose{n}d"), transposed)
    for n in (1, 2, 3):
        made.set_object_type(getattr(F, f"conv_transpose{n}d"), transposed)
    made.set_object_type(F.layer_norm, with_float_weight).set_object_type(nn.LayerNorm, with_float_weight)
    made.set_object_type(nn.PReLU, default_quint8_weight_qconfig)
    of_observer: dict[int, QConfig] = {}
    for kind, observer in FIXED.items():
        activation = FixedQParamsFakeQuantize.with_args(observer=observer) if is_qat else observer
        made.set_object_type(kind, of_observer.setdefault(id(observer), QConfig(activation, weight)))
    return made


def get_default_qconfig_mapping(backend: str = "x86", version: int = 0) -> QConfigMapping:
    """The mapping for quantization after training.

    Args:
        backend: "x86", "fbgemm", "qnnpack" or "onednn".
        version: 0.
    Raises:
        AssertionError: no such backend, as in `get_default_qconfig_mapping("cuda")`.
    """
    return _default_mapping(False, backend, version)


def get_default_qat_qconfig_mapping(backend: str = "x86", version: int = 1) -> QConfigMapping:
    """The mapping for training with rounded weights.

    Args:
        backend: "x86", "fbgemm", "qnnpack" or "onednn".
        version: 1 for modules that observe and round in one, 0 for `FakeQuantize`.
    Raises:
        AssertionError: no such backend, as in `get_default_qat_qconfig_mapping("cuda")`.
    """
    return _default_mapping(True, backend, version)
