"""The objects of `torch.ops.aten`.

An operator and its overloads (`torch.ops.aten.add.Tensor`) are also used as keys of tables, for operators that Rushlight
has not as well; calling these raises NotImplementedError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...tensor.tensor import Tensor
from ..op import OPS
from .function_schema import FunctionSchema, schema_of_own
from .run import run_record
from .schemas import overloads

__all__ = ["OpOverload", "OpOverloadPacket", "Operators", "functions", "operator", "register"]

_made: dict[str, OpOverloadPacket] = {}
functions: dict[
    str, Callable
] = {}  # what calls of an operator by torch's arguments run, where no function has its name


class OpOverload:
    """One overload. Which one a call takes follows from its arguments, whichever it was asked for."""

    __module__ = "torch._ops"

    def __init__(self, packet: OpOverloadPacket, overload: str):
        self.overloadpacket, self._overloadname = packet, overload
        self._runs: dict[Any, Any] = {}  # operators of ours whose calls were shown as this one: they run in its calls
        self.__name__ = self.__qualname__ = f"{packet.__name__}.{overload}"
        self.__module__ = "torch._ops.aten"

    namespace = "aten"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.overloadpacket.__name__ not in functions:
            for record, schema in self._runs.items():
                try:
                    return run_record(record, schema, args, kwargs)
                except LookupError as error:
                    if type(error) is not LookupError:
                        raise
        return self.overloadpacket(*args, **kwargs)

    def name(self) -> str:
        """aten::name, with the overload unless it is the default one."""
        overload = self._overloadname
        return f"aten::{self.overloadpacket.__name__}" + ("" if overload == "default" else f".{overload}")

    def __str__(self) -> str:
        return f"aten.{self.overloadpacket.__name__}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='aten.{self.overloadpacket.__name__}', overload='{self._overloadname}')>"

    @property
    def _opname(self) -> str:
        return self.overloadpacket.__name__

    @property
    def _name(self) -> str:
        return self.name()

    @property
    def _schema(self) -> FunctionSchema:
        for schema in overloads(self.overloadpacket.__name__):
            if schema.overload == self._overloadname:
                return FunctionSchema(schema)
        return FunctionSchema(schema_of_own(self.overloadpacket.__name__, self._overloadname))

    @property
    def is_view(self) -> bool:
        """Whether the result is a view of an argument."""
        return self._schema.is_view


class OpOverloadPacket:
    """An operator; its attributes are its overloads."""

    __module__ = "torch._ops"

    def __init__(self, name: str):
        self.__name__, self.__module__ = name, "torch._ops.aten"
        self._function: Callable | None = None  # what torch's function of that name is here
        self._refuse: Callable[[str], Exception] | None = None  # makes the error where there is none

    @property
    def implementation(self) -> Callable | None:
        """What a call runs; None where nothing does."""
        return functions.get(self.__name__) or self._function or _published(self.__name__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        function = self.implementation
        if function is None:
            path = f"torch.ops.aten.{self.__name__}"
            raise self._refuse(path) if self._refuse else NotImplementedError(f"{path} is not implemented in Rushlight")
        return function(*args, **kwargs)

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("_"):
            raise AttributeError(overload)
        made = self.__dict__[overload] = OpOverload(self, overload)
        return made

    @property
    def _qualified_op_name(self) -> str:
        return f"aten::{self.__name__}"

    def overloads(self) -> list[str]:
        """The names of the overloads."""
        return [schema.overload for schema in overloads(self.__name__)]

    def __str__(self) -> str:
        return f"aten.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"


def operator(
    name: str, function: Callable | None = None, refuse: Callable[[str], Exception] | None = None
) -> OpOverloadPacket:
    """`torch.ops.aten.<name>`, always the same object. function: what it calls; refuse: makes the error where there is none."""
    found = _made.get(name)
    if found is None:
        found = _made[name] = OpOverloadPacket(name)
    found._function, found._refuse = found._function or function, found._refuse or refuse
    return found


class Operators:
    """All operators, as attributes: `ops.aten`, whose names the code of graphs writes as torch's does."""

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        return operator(name)


def register(name: str, function: Callable) -> None:
    """Say what calls of an operator run."""
    functions[name] = function


def _published(name: str) -> Callable | None:
    return OPS.get(name) or getattr(Tensor, name, None)
