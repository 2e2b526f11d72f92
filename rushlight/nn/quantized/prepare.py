"""Models with observers or rounding modules in them: `prepare`, `prepare_qat`, the stubs and the usual `QConfig`s."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from ...core.tensor import dtype as dtypes
from ...core.tensor.tensor import Tensor
from .. import modules as nn
from ..modules.module import Module
from ..utils.parametrize import type_before_parametrizations
from . import fake_quantize as fakes
from . import qat
from .fake_quantize import FakeQuantize, FusedMovingAvgObsFakeQuantize
from .observers import QConfig, default_weight_observer
from .quantize import _DEPRECATED, DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, propagate_qconfig_, swap_module
from .range_observers import (
    MovingAverageMinMaxObserver,
    NoopObserver,
    default_observer,
    default_per_channel_weight_observer,
)

__all__ = [
    "DEFAULT_QAT_MODULE_MAPPINGS", "DeQuantStub", "QuantStub", "QuantWrapper", "add_quant_dequant",
    "default_activation_only_qconfig", "default_dynamic_qat_qconfig", "default_embedding_qat_qconfig",
    "default_per_channel_qconfig", "default_qat_qconfig", "default_qat_qconfig_v2", "default_qconfig",
    "default_weight_only_qconfig", "get_default_qat_module_mappings", "get_default_qat_qconfig",
    "get_default_qconfig_propagation_list", "prepare", "prepare_qat",
]  # fmt: skip

default_qconfig = QConfig(activation=default_observer, weight=default_weight_observer)
default_per_channel_qconfig = QConfig(activation=default_observer, weight=default_per_channel_weight_observer)
default_qat_qconfig = QConfig(activation=fakes.default_fake_quant, weight=fakes.default_weight_fake_quant)
default_dynamic_qat_qconfig = QConfig(
    activation=fakes.default_dynamic_fake_quant, weight=fakes.default_weight_fake_quant
)
default_weight_only_qconfig = QConfig(activation=nn.Identity, weight=fakes.default_weight_fake_quant)
default_activation_only_qconfig = QConfig(activation=fakes.default_fake_quant, weight=nn.Identity)
default_qat_qconfig_v2 = QConfig(
    activation=fakes.default_fused_act_fake_quant, weight=fakes.default_fused_wt_fake_quant
)
default_embedding_qat_qconfig = QConfig(
    activation=NoopObserver.with_args(dtype=dtypes.float32), weight=fakes.default_embedding_fake_quant
)

_BACKENDS = ["fbgemm", "x86", "qnnpack", "onednn"]


def get_default_qat_qconfig(backend: str = "x86", version: int = 1) -> QConfig:
    """The `QConfig` for training, of a backend of torch's.

    Args:
        backend: "x86" and "fbgemm" use half the levels for activations; "qnnpack" one scale for each weight.
        version: 1 for modules that observe and round in one, 0 for `FakeQuantize`.
    Raises:
        AssertionError: no such backend, as in `get_default_qat_qconfig("cuda")`.
    """
    if backend not in _BACKENDS:
        raise AssertionError(f"backend: {backend} not supported. backend must be one of {_BACKENDS}")
    if version not in (0, 1):
        raise AssertionError(
            f"Version number: {version}in get_default_qat_qconfig is not supported. Version number must be 0 or 1"
        )
    kind: Any = FusedMovingAvgObsFakeQuantize if version else FakeQuantize
    options: dict[str, Any] = {"observer": MovingAverageMinMaxObserver, "quant_min": 0, "quant_max": 255}
    if backend != "onednn":
        options["reduce_range"] = backend != "qnnpack"
    if backend == "qnnpack":
        weight = fakes.default_fused_wt_fake_quant if version else fakes.default_weight_fake_quant
    else:
        weight = (
            fakes.default_fused_per_channel_wt_fake_quant if version else fakes.default_per_channel_weight_fake_quant
        )
    return QConfig(activation=kind.with_args(**options), weight=weight)


class QuantStub(Module):
    """Marks where a model's numbers become levels. Until then it gives its input.

    qconfig: what observes here; by default that of the module that it is in.
    """

    def __init__(self, qconfig: QConfig | None = None) -> None:
        super().__init__()
        if qconfig:
            self.qconfig = qconfig

    def forward(self, x: Tensor) -> Tensor:
        return x


class DeQuantStub(QuantStub):
    """Marks where levels become numbers again. Until then it gives its input."""


class QuantWrapper(Module):
    """A module between a `QuantStub` and a `DeQuantStub`."""

    def __init__(self, module: Module) -> None:
        super().__init__()
        qconfig = getattr(module, "qconfig", None)
        self.add_module("quant", QuantStub(qconfig))
        self.add_module("dequant", DeQuantStub(qconfig))
        self.add_module("module", module)
        self.train(module.training)

    def forward(self, X: Tensor) -> Any:
        return self.dequant(self.module(self.quant(X)))  # type: ignore[operator]


def add_quant_dequant(module: Any) -> Any:
    """Put each leaf with a `qconfig` between stubs."""
    if not list(module.children()) and getattr(module, "qconfig", None):
        return QuantWrapper(module)
    for name, child in module.named_children():
        module._modules[name] = add_quant_dequant(child)
    return module


DEFAULT_QAT_MODULE_MAPPINGS: dict[Any, Any] = {
    nn.Conv2d: qat.Conv2d,
    nn.Conv3d: qat.Conv3d,
    nn.Linear: qat.Linear,
    nn.linear.NonDynamicallyQuantizableLinear: qat.Linear,
}
_OBSERVED = frozenset({
    QuantStub, DeQuantStub, nn.BatchNorm2d, nn.BatchNorm3d, nn.Dropout, nn.Conv1d, nn.Conv2d, nn.Conv3d, nn.ConvTranspose1d,
    nn.ConvTranspose2d, nn.ConvTranspose3d, nn.ELU, nn.Embedding, nn.EmbeddingBag, nn.GroupNorm, nn.Hardswish,
    nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d, nn.LayerNorm, nn.LeakyReLU, nn.Linear,
    nn.linear.NonDynamicallyQuantizableLinear, nn.ReLU6, nn.PReLU, nn.Sequential, qat.Linear, qat.Conv2d, qat.Conv3d,
    *DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
})  # fmt: skip
_RANGES = {
    nn.Hardsigmoid: fakes.default_fixed_qparams_range_0to1_fake_quant,
    nn.Sigmoid: fakes.default_fixed_qparams_range_0to1_fake_quant,
    nn.Softmax: fakes.default_fixed_qparams_range_0to1_fake_quant,
    nn.Tanh: fakes.default_fixed_qparams_range_neg1to1_fake_quant,
}  # results whose range is known


def get_default_qat_module_mappings() -> dict[Any, Any]:
    """The class of layers with rounded weights of each class of layers."""
    return dict(DEFAULT_QAT_MODULE_MAPPINGS)


def get_default_qconfig_propagation_list() -> set[Any]:
    """The classes of layers whose results are observed."""
    return set(_OBSERVED)


def prepare(
    model: Any, inplace: bool = False, allow_list: Any = None, observer_non_leaf_module_list: Any = None,
    prepare_custom_config_dict: Any = None,
) -> Any:  # fmt: skip
    """A copy of the model whose layers with a `qconfig` have an observer of their results.

    Args:
        inplace: change the model itself.
        allow_list: the classes of layers to observe; default: `get_default_qconfig_propagation_list()`.
        observer_non_leaf_module_list: classes of modules with children to observe as well.
    """
    warnings.warn(_DEPRECATED, DeprecationWarning, stacklevel=2)
    if prepare_custom_config_dict:
        raise NotImplementedError("prepare: prepare_custom_config_dict is not implemented")
    return _prepare(model, inplace, allow_list, observer_non_leaf_module_list)


def _prepare(model: Any, inplace: bool, allow_list: Any, non_leaf: Any) -> Any:
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model)
    if not any(getattr(m, "qconfig", None) for m in model.modules()):
        warnings.warn(
            "None of the submodule got qconfig applied. Make sure you passed correct configuration through `qconfig_dict` "
            "or by assigning the `.qconfig` attribute directly on submodules",
            stacklevel=3,
        )
    _observe(model, _OBSERVED if allow_list is None else set(allow_list), non_leaf or ())
    return model


def prepare_qat(model: Any, mapping: dict[Any, Any] | None = None, inplace: bool = False) -> Any:
    """A copy of the model, in training mode, whose weights and results are rounded as those of a quantized one.

    Args:
        mapping: the class with rounded weights of each class; default: `get_default_qat_module_mappings()`.
        inplace: change the model itself.
    Raises:
        AssertionError: the model is in evaluation mode, as in `prepare_qat(nn.Linear(1, 1).eval())`.
    """
    warnings.warn(_DEPRECATED, DeprecationWarning, stacklevel=2)
    if not model.training:
        raise AssertionError("prepare_qat only works on models in training mode")
    mapping = get_default_qat_module_mappings() if mapping is None else mapping
    if not inplace:
        model = copy.deepcopy(model)
    propagate_qconfig_(model)
    _swap(model, mapping)
    return _prepare(model, True, None, set(mapping.values()))


def _swap(module: Any, mapping: dict[Any, Any]) -> None:
    for name, child in list(module.named_children()):
        _swap(child, mapping)
        module._modules[name] = swap_module(child, mapping, {})


def _observe(module: Any, kinds: Any, non_leaf: Any) -> None:
    """Give an observer to each leaf of these kinds, and to each module of the kinds `non_leaf`."""
    for child in list(module.children()):
        kind = type_before_parametrizations(child)
        if kind is nn.Dropout:
            continue
        if kind in non_leaf:
            _add_observer(child, None)
        elif kind in _RANGES:
            _add_observer(child, _RANGES[kind] if non_leaf else _RANGES[kind].p.keywords["observer"])
        else:
            _observe(child, kinds, non_leaf)
    kind = type_before_parametrizations(module)
    if kind in kinds and kind is not nn.Sequential and (not list(module.children()) or kind in (qat.Linear,)):
        _add_observer(module, None)


def _add_observer(module: Any, special: Any) -> None:
    if getattr(module, "qconfig", None) is None or isinstance(module, DeQuantStub):
        return
    module.add_module("activation_post_process", (special or module.qconfig.activation)())
    module.register_forward_hook(_observer_forward_hook, prepend=True)


def _observer_forward_hook(module: Any, input: Any, output: Any) -> Any:
    return module.activation_post_process(output)
