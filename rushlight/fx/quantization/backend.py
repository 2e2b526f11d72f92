"""Which backend's rules `prepare_fx` and `convert_fx` follow: the native one's, whose config may be given."""

from __future__ import annotations

from typing import Any

__all__ = ["BackendConfig", "check_backend", "get_native_backend_config"]


class BackendConfig:
    """A backend's rules, by its name. Those of single patterns are not listed.

    >>> BackendConfig("native").name
    'native'
    """

    def __init__(self, name: str = "") -> None:
        self.name = name

    def set_name(self, name: str) -> BackendConfig:
        """Take another name."""
        self.name = name
        return self

    def __repr__(self) -> str:
        return f"BackendConfig({self.__dict__})"


def get_native_backend_config() -> BackendConfig:
    """The config of torch's own quantized operators (fbgemm, x86, onednn, qnnpack)."""
    return BackendConfig("native")


def check_backend(function: str, config: Any) -> None:
    """Raise NotImplementedError for another backend than the native one."""
    if config is not None and not (isinstance(config, BackendConfig) and config.name == "native"):
        raise NotImplementedError(f"{function}: this backend_config is not implemented; the native backend's is used")
