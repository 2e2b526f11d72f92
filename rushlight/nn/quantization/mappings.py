"""Which class of layers takes the place of which: `torch.ao.quantization.quantization_mappings`."""

from __future__ import annotations

from typing import Any

from .. import modules as nn
from . import fake_quantize as fakes
from . import intrinsic as nni
from . import qat
from . import qat_fused as nniqat
from .quantize import DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS
from .static import embedding, layers
from .static import weighted as nnq
from .static.functional_modules import FloatFunctional, QFunctional
from .stubs import DeQuantStub, QuantStub

__all__ = [
    "DEFAULT_MODULE_TO_ACT_POST_PROCESS", "DEFAULT_QAT_MODULE_MAPPINGS", "DEFAULT_STATIC_QUANT_MODULE_MAPPINGS",
    "get_default_qat_module_mappings", "get_default_qconfig_propagation_list", "get_default_static_quant_module_mappings",
    "get_dynamic_quant_module_class", "get_static_quant_module_class", "no_observer_set",
]  # fmt: skip


DEFAULT_STATIC_QUANT_MODULE_MAPPINGS: dict[Any, Any] = {
    QuantStub: layers.Quantize,
    DeQuantStub: layers.DeQuantize,
    nn.BatchNorm2d: layers.BatchNorm2d,
    nn.BatchNorm3d: layers.BatchNorm3d,
    nn.Dropout: layers.Dropout,
    nn.Conv1d: nnq.Conv1d,
    nn.Conv2d: nnq.Conv2d,
    nn.Conv3d: nnq.Conv3d,
    nn.ConvTranspose1d: nnq.ConvTranspose1d,
    nn.ConvTranspose2d: nnq.ConvTranspose2d,
    nn.ConvTranspose3d: nnq.ConvTranspose3d,
    nn.ELU: layers.ELU,
    nn.Embedding: embedding.Embedding,
    nn.EmbeddingBag: embedding.EmbeddingBag,
    nn.GroupNorm: layers.GroupNorm,
    nn.Hardswish: layers.Hardswish,
    nn.InstanceNorm1d: layers.InstanceNorm1d,
    nn.InstanceNorm2d: layers.InstanceNorm2d,
    nn.InstanceNorm3d: layers.InstanceNorm3d,
    nn.LayerNorm: layers.LayerNorm,
    nn.LeakyReLU: layers.LeakyReLU,
    nn.linear.NonDynamicallyQuantizableLinear: nnq.Linear,
    nn.Linear: nnq.Linear,
    nn.ReLU6: layers.ReLU6,
    nn.PReLU: layers.PReLU,
    FloatFunctional: QFunctional,
    nni.BNReLU2d: layers.BNReLU2d,
    nni.BNReLU3d: layers.BNReLU3d,
    nni.ConvReLU1d: nnq.ConvReLU1d,
    nni.ConvReLU2d: nnq.ConvReLU2d,
    nni.ConvReLU3d: nnq.ConvReLU3d,
    nni.LinearReLU: nnq.LinearReLU,
    nniqat.ConvBn1d: nnq.Conv1d,
    nniqat.ConvBn2d: nnq.Conv2d,
    nniqat.ConvBn3d: nnq.Conv3d,
    nniqat.ConvBnReLU1d: nnq.ConvReLU1d,
    nniqat.ConvBnReLU2d: nnq.ConvReLU2d,
    nniqat.ConvBnReLU3d: nnq.ConvReLU3d,
    nniqat.ConvReLU2d: nnq.ConvReLU2d,
    nniqat.ConvReLU3d: nnq.ConvReLU3d,
    nniqat.LinearReLU: nnq.LinearReLU,
    nniqat.LinearBn1d: nnq.Linear,
    qat.Linear: nnq.Linear,
    qat.Conv2d: nnq.Conv2d,
    qat.Conv3d: nnq.Conv3d,
}
DEFAULT_QAT_MODULE_MAPPINGS: dict[Any, Any] = {
    nn.Conv2d: qat.Conv2d,
    nn.Conv3d: qat.Conv3d,
    nn.Linear: qat.Linear,
    nn.linear.NonDynamicallyQuantizableLinear: qat.Linear,
    nni.ConvBn1d: nniqat.ConvBn1d,
    nni.ConvBn2d: nniqat.ConvBn2d,
    nni.ConvBn3d: nniqat.ConvBn3d,
    nni.ConvBnReLU1d: nniqat.ConvBnReLU1d,
    nni.ConvBnReLU2d: nniqat.ConvBnReLU2d,
    nni.ConvBnReLU3d: nniqat.ConvBnReLU3d,
    nni.ConvReLU2d: nniqat.ConvReLU2d,
    nni.ConvReLU3d: nniqat.ConvReLU3d,
    nni.LinearReLU: nniqat.LinearReLU,
    nni.LinearBn1d: nniqat.LinearBn1d,
}
DEFAULT_MODULE_TO_ACT_POST_PROCESS: dict[Any, Any] = {
    nn.Hardsigmoid: fakes.default_fixed_qparams_range_0to1_fake_quant,
    nn.Sigmoid: fakes.default_fixed_qparams_range_0to1_fake_quant,
    nn.Softmax: fakes.default_fixed_qparams_range_0to1_fake_quant,
    nn.Tanh: fakes.default_fixed_qparams_range_neg1to1_fake_quant,
}  # results whose range is known


def get_default_static_quant_module_mappings() -> dict[Any, Any]:
    """The quantized class of each class of layers, for `convert`."""
    return dict(DEFAULT_STATIC_QUANT_MODULE_MAPPINGS)


def get_default_qat_module_mappings() -> dict[Any, Any]:
    """The class of layers with rounded weights of each class of layers."""
    return dict(DEFAULT_QAT_MODULE_MAPPINGS)


def get_default_qconfig_propagation_list() -> set[Any]:
    """The classes of layers whose results are observed."""
    tables = (
        DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, DEFAULT_QAT_MODULE_MAPPINGS, DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS,
    )  # fmt: skip
    return {nn.Sequential}.union(*tables)


def _class_of(kind: Any, table: dict[Any, Any], more: dict[Any, Any] | None) -> Any:
    found = {**table, **(more or {})}.get(kind)
    if found is None:
        raise AssertionError(f"Floating point module class {kind} does not have a corresponding quantized module class")
    return found


def get_static_quant_module_class(
    float_module_class: Any, additional_static_quant_mapping: dict[Any, Any] | None = None, is_reference: bool = False
) -> Any:  # fmt: skip
    """The class whose layers `convert` puts in the place of those of a class.

    Raises:
        AssertionError: there is none, as in `get_static_quant_module_class(nn.ReLU)`.
    """
    if is_reference:
        raise NotImplementedError("reference modules of quantization are not implemented")
    return _class_of(float_module_class, DEFAULT_STATIC_QUANT_MODULE_MAPPINGS, additional_static_quant_mapping)


def get_dynamic_quant_module_class(
    float_module_class: Any, additional_dynamic_quant_mapping: dict[Any, Any] | None = None
) -> Any:
    """The class whose layers `quantize_dynamic` puts in the place of those of a class.

    Raises:
        AssertionError: there is none, as in `get_dynamic_quant_module_class(nn.ReLU)`.
    """
    return _class_of(float_module_class, DEFAULT_DYNAMIC_QUANT_MODULE_MAPPINGS, additional_dynamic_quant_mapping)


def no_observer_set() -> set[Any]:
    """Classes of layers that cannot have observers: none."""
    return set()
