"""An operator's function and its in-place form, where the kernel takes its arrays in another order than torch's arguments."""

from __future__ import annotations

from typing import Any

from ..core.dispatch.inplace import write
from ..core.dispatch.op import composite


def twins(name: str, op: Any, order: Any, doc: str) -> None:
    """The function and method `name` and its in-place form; `order` puts torch's arguments in the kernel's order."""

    def plain(input, *args, **kwargs):
        arrays, metadata = order(input, *args, **kwargs)
        return op(input, *arrays, *metadata)

    def inplace(self, *args, **kwargs):
        arrays, metadata = order(self, *args, **kwargs)
        return write(op.record, self, arrays, metadata)

    plain.__name__, plain.__doc__ = name, doc
    inplace.__name__, inplace.__doc__ = (
        name + "_",
        f"In-place form of `{name}`: the result is written into the tensor, which is returned.",
    )
    plain.__wrapped__ = inplace.__wrapped__ = order  # type: ignore[attr-defined]  # inspect.signature looks there
    composite(method=True, out=True)(plain)
    composite(method=True, function=False)(inplace)
