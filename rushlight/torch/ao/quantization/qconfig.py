"""`torch.ao.quantization.qconfig`: which observers a layer has."""

from rushlight.nn.quantization.observers import (
    QConfig,
    default_dynamic_qconfig,
)
from rushlight.nn.quantization.prepare import (
    default_activation_only_qconfig,
    default_dynamic_qat_qconfig,
    default_embedding_qat_qconfig,
    default_embedding_qat_qconfig_4bit,
    default_per_channel_qconfig,
    default_qat_qconfig,
    default_qat_qconfig_v2,
    default_qconfig,
    default_weight_only_qconfig,
    float_qparams_weight_only_qconfig,
    float_qparams_weight_only_qconfig_4bit,
    get_default_qat_qconfig,
    get_default_qconfig,
)
from rushlight.nn.quantization.qconfig_mapping import default_quint8_weight_qconfig, default_reuse_input_qconfig

__all__ = [
    "QConfig",
    "default_activation_only_qconfig",
    "default_dynamic_qat_qconfig",
    "default_dynamic_qconfig",
    "default_embedding_qat_qconfig",
    "default_embedding_qat_qconfig_4bit",
    "default_per_channel_qconfig",
    "default_qat_qconfig",
    "default_qat_qconfig_v2",
    "default_qconfig",
    "default_quint8_weight_qconfig",
    "default_reuse_input_qconfig",
    "default_weight_only_qconfig",
    "float_qparams_weight_only_qconfig",
    "float_qparams_weight_only_qconfig_4bit",
    "get_default_qat_qconfig",
    "get_default_qconfig",
]
