"""Parts of torch.distributed that are not implemented: their names can be imported, and raise when they are called."""

from __future__ import annotations

from typing import Any

__all__ = ["absent_class"]


def absent_class(module: str, name: str) -> Any:
    """A class of this name whose instances cannot be made, and which raises NotImplementedError as a function, too."""

    def new(cls: type, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"torch.distributed.{module}.{name} is not implemented. Rushlight has DistributedDataParallel and the "
            "collectives of torch.distributed."
        )

    doc = f"torch's {name}. Raises NotImplementedError when it is called."
    return type(name, (), {"__new__": new, "__module__": f"torch.distributed.{module}", "__doc__": doc})
