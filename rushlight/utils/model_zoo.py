"""torch.utils.model_zoo: the old name of `torch.hub.load_state_dict_from_url`."""

from typing import Any

__all__ = ["load_url"]


def load_url(*args: Any, **kwargs: Any) -> Any:
    """`torch.hub.load_state_dict_from_url`."""
    from importlib import import_module

    return import_module("rushlight.hub").load_state_dict_from_url(*args, **kwargs)
