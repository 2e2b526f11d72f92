"""Named tuples that operators return, as `torch.return_types` has them: `x.max(0)` gives `max(values=..., indices=...)`."""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..tensor.tensor import Tensor

    class Named(tuple):
        """A class that `named` makes."""

        _fields: tuple[str, ...]

        def __new__(cls, *values: Any) -> Named: ...

        def __getattr__(self, name: str) -> Tensor: ...


def named(name: str, *fields: str) -> type[Named]:
    """A tuple class with a property for each of `fields`; it prints one field a line."""

    def new(cls, *values: Any):
        if len(values) == 1 and len(fields) > 1:
            values = tuple(values[0])
        if len(values) != len(fields):
            raise TypeError(
                f"torch.return_types.{name}() takes a {len(fields)}-sequence ({len(values)}-sequence given)"
            )
        return tuple.__new__(cls, values)

    def show(self) -> str:
        lines = ",\n".join(f"{field}={value!r}" for field, value in zip(fields, self, strict=True))
        return f"torch.return_types.{name}(\n{lines})"

    members: dict[str, Any] = {field: property(itemgetter(i)) for i, field in enumerate(fields)}
    members.update(
        __slots__=(), __new__=new, __repr__=show, __reduce__=lambda self: (named_again, (name, fields, tuple(self))),
        __doc__=f"The result of {name}: {', '.join(fields)}.", n_fields=len(fields), _fields=fields,
    )  # fmt: skip
    cls: Any = type(name, (tuple,), members)
    cls.__module__ = "torch.return_types"
    KNOWN[name] = cls
    return cls


KNOWN: dict[str, type[tuple]] = {}  # by torch's name


def of_out(cls: Any) -> Any:
    """torch's class for results that were written into `out=`: `max_out` for `max`."""
    name = cls.__name__ + "_out"
    return KNOWN.get(name) or named(name, *cls._fields)


def named_again(name: str, fields: tuple[str, ...], values: tuple) -> tuple:
    """A pickled named tuple rebuilt."""
    return (KNOWN.get(name) or named(name, *fields))(*values)
