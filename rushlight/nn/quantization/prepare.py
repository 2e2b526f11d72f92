"""Models with observers or rounding modules in them: `prepare`, `prepare_qat` and the usual `QConfig`s."""

from __future__ import annotations

import copy
import warnings
from typing import Any

from ...core.tensor import dtype as dtypes
from .. import modules as nn
from ..utils.parametrize import type_before_parametrizations
from . import fake_quantize as fakes
from .fake_quantize import FakeQuantize, FakeQuantizeBase, FusedMovingAvgObsFakeQuantize
from .histogram import HistogramObserver
from .intrinsic import _FusedModule
from .mappings import (
    DEFAULT_MODULE_TO_ACT_POST_PROCESS,
    DEFAULT_QAT_MODULE_MAPPINGS,
    get_default_qat_module_mappings,
    get_default_qconfig_propagation_list,
)
from .observers import QConfig, default_placeholder_observer, default_weight_observer
from .quantize import (
    _DEPRECATED,
    observer_forward_hook,
    observer_forward_pre_hook,
    propagate_qconfig_,
    swap_children,
)
from .range_observers import (
    MovingAverageMinMaxObserver,
    NoopObserver,
    default_float_qparams_observer,
    default_float_qparams_observer_4bit,
    default_observer,
    default_per_channel_weight_observer,
)
from .static.functional_modules import FloatFunctional, QFunctional
from .stubs import DeQuantStub, QuantStub, QuantWrapper, add_quant_dequant

__all__ = [
    "DEFAULT_QAT_MODULE_MAPPINGS", "DeQuantStub", "QuantStub", "QuantWrapper", "add_quant_dequant",
    "default_activation_only_qconfig", "default_dynamic_qat_qconfig", "default_embedding_qat_qconfig",
    "default_embedding_qat_qconfig_4bit",
    "default_per_channel_qconfig", "default_qat_qconfig", "default_qat_qconfig_v2", "default_qconfig",
    "default_weight_only_qconfig", "float_qparams_weight_only_qconfig", "float_qparams_weight_only_qconfig_4bit",
    "get_default_qat_module_mappings", "get_default_qat_qconfig", "get_default_qconfig",
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
default_embedding_qat_qconfig_4bit = QConfig(
    activation=NoopObserver.with_args(dtype=dtypes.float32), weight=fakes.default_embedding_fake_quant_4bit
)

float_qparams_weight_only_qconfig = QConfig(
    activation=default_placeholder_observer, weight=default_float_qparams_observer
)
float_qparams_weight_only_qconfig_4bit = QConfig(
    activation=default_placeholder_observer, weight=default_float_qparams_observer_4bit
)

_BACKENDS = ["fbgemm", "x86", "qnnpack", "onednn"]


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """The `QConfig` for static quantization, of a backend of torch's.

    Args:
        backend: "x86" and "fbgemm" use half the levels for activations; "qnnpack" one scale for each weight.
        version: 0.
    Raises:
        AssertionError: no such backend, as in `get_default_qconfig("cuda")`.
    """
    if backend not in _BACKENDS:
        raise AssertionError(f"backend: {backend} not supported. backend must be one of {_BACKENDS}")
    if version != 0:
        raise AssertionError(
            f"Version number: {version} in get_default_qconfig is not supported. Version number must be 0"
        )
    activation = HistogramObserver.with_args(reduce_range=backend in ("x86", "fbgemm"))
    is_plain = backend == "qnnpack"
    return QConfig(
        activation=activation, weight=default_weight_observer if is_plain else default_per_channel_weight_observer
    )


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
    _observe(model, get_default_qconfig_propagation_list() if allow_list is None else set(allow_list), non_leaf or ())
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
    swap_children(model, mapping)
    return _prepare(model, True, None, set(mapping.values()))


def _observe(module: Any, kinds: Any, non_leaf: Any) -> None:
    """Give an observer to each leaf of these kinds, to fused modules, and to each module of the kinds `non_leaf`."""
    for child in list(module.children()):
        kind = type_before_parametrizations(child)
        has_qconfig = getattr(child, "qconfig", None) is not None
        if kind is nn.Dropout:
            continue
        if issubclass(kind, (FloatFunctional, QFunctional)):
            if has_qconfig:
                child.activation_post_process = child.qconfig.activation()
        elif isinstance(child, _FusedModule) or kind in non_leaf:
            _add_observer(child, None)
        elif child.training and type(child) in DEFAULT_MODULE_TO_ACT_POST_PROCESS:
            _add_observer(child, DEFAULT_MODULE_TO_ACT_POST_PROCESS[kind])
        elif has_qconfig and kind in (nn.LSTM, nn.MultiheadAttention):
            raise NotImplementedError(
                f"prepare: a statically quantized {kind.__name__} is not implemented; set its `qconfig` to None to leave it "
                "as it is, or use quantize_dynamic"
            )
        else:
            _observe(child, kinds, non_leaf)
    kind = type_before_parametrizations(module)
    is_leaf = not list(module.children())
    if kind in kinds and kind is not nn.Sequential and (is_leaf or hasattr(module, "weight_fake_quant")):
        _add_observer(module, None)


def _add_observer(module: Any, special: Any) -> None:
    if getattr(module, "qconfig", None) is None or isinstance(module, DeQuantStub):
        return
    module.add_module("activation_post_process", (special or module.qconfig.activation)())
    if _is_without_memory(module.qconfig):
        module.register_forward_pre_hook(observer_forward_pre_hook, prepend=True)
    else:
        module.register_forward_hook(observer_forward_hook, prepend=True)


def _is_without_memory(qconfig: Any) -> bool:
    """Whether activations are observed again in each call, so that a layer's input is."""
    seen = qconfig.activation()
    seen = getattr(seen, "activation_post_process", seen) if isinstance(seen, FakeQuantizeBase) else seen
    return getattr(seen, "averaging_constant", None) == 1
