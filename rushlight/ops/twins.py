"""An operator's function and its in-place form, where the kernel takes its arrays in another order than torch's arguments."""

from __future__ import annotations

from typing import Any

from ..core.dispatch.inplace import write
from ..core.dispatch.op import composite
from ..core.tensor.node import shown_as, written_as
from ..core.tensor.tensor import Tensor


def twins(name: str, op: Any, order: Any, doc: str, number: str = "", onto: Any = None) -> None:
    """The function and method `name` and its in-place form; `order` puts torch's arguments in the kernel's order.

    number: torch's name of the node where the last array is given as a number.
    onto: gives the arrays for the in-place form, where that reads what it writes.
    """
    position, code = len(op.record.signature.arrays) - 1, order.__code__
    last = code.co_varnames[code.co_argcount - 1]

    def is_number(args, kwargs):
        return number and not isinstance(kwargs[last] if last in kwargs else args[-1], Tensor)

    def plain(input, *args, **kwargs):
        arrays, metadata = order(input, *args, **kwargs)
        result = op(input, *arrays, *metadata)
        return shown_as(result, number, position) if is_number(args, kwargs) else result

    def inplace(self, *args, **kwargs):
        arrays, metadata = order(self, *args, **kwargs)
        write(op.record, self, arrays if onto is None else onto(self, *arrays), metadata)
        return written_as(self, op.record, number, position) if is_number(args, kwargs) else self

    plain.__name__, plain.__doc__ = name, doc
    inplace.__name__, inplace.__doc__ = (
        name + "_",
        f"In-place form of `{name}`: the result is written into the tensor, which is returned.",
    )
    plain.__wrapped__ = inplace.__wrapped__ = order  # type: ignore[attr-defined]  # inspect.signature looks there
    composite(method=True, out=True)(plain)
    composite(method=True, function=False)(inplace)
