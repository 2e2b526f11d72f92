"""`torch.ao.quantization.backend_config`: what quantization can do, by its name; the native backend's rules are the ones used."""

from rushlight.fx.quantization.backend import BackendConfig, get_native_backend_config

__all__ = ["BackendConfig", "get_native_backend_config"]
