"""`torch.ao.quantization.qconfig_mapping`: which `QConfig` each operator of a traced model has."""

from rushlight.nn.quantization.qconfig_mapping import (
    QConfigMapping,
    get_default_qat_qconfig_mapping,
    get_default_qconfig_mapping,
)

__all__ = ["QConfigMapping", "get_default_qat_qconfig_mapping", "get_default_qconfig_mapping"]
