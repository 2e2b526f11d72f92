"""Saving and loading: torch's file format both ways, with a restricted unpickler by default, and safetensors."""

from .allowlist import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .loading import get_unsafe_globals_in_checkpoint, load
from .saving import DEFAULT_PROTOCOL, save
from .storages import StorageType

__all__ = [
    "DEFAULT_PROTOCOL",
    "StorageType",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
]
