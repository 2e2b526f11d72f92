"""`torch.__future__`: how modules replace their parameters when they are converted or load a state dict.

By default a parameter stays the object that it is, and its memory is replaced.
"""

from __future__ import annotations

from ..nn.modules.conversion import conversion

__all__ = [
    "get_overwrite_module_params_on_conversion", "get_swap_module_params_on_conversion",
    "set_overwrite_module_params_on_conversion", "set_swap_module_params_on_conversion",
]  # fmt: skip


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Whether `module.to` and its like assign new parameters to the module."""
    conversion.set(overwrites=value)


def get_overwrite_module_params_on_conversion() -> bool:
    """Whether `module.to` and its like assign new parameters to the module."""
    return conversion.overwrites


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Whether `module.to` and its like, and `load_state_dict`, give parameters another content by `swap_tensors`."""
    conversion.set(swaps=value)


def get_swap_module_params_on_conversion() -> bool:
    """Whether `module.to` and its like, and `load_state_dict`, give parameters another content by `swap_tensors`."""
    return conversion.swaps
