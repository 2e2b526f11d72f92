"""`torch.distributed.rpc.api`: the decorator of functions that need a started agent; none can be started."""

from collections.abc import Callable
from functools import wraps
from typing import Any, NoReturn

__all__: list[str] = []


def _require_initialized(func: Callable) -> Callable:
    """A function that raises RuntimeError, as it does in torch before `init_rpc`."""

    @wraps(func)
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("RPC has not been initialized. Call torch.distributed.rpc.init_rpc first.")

    return refuse
