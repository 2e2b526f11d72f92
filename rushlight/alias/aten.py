"""`torch.ops.aten`: torch's inner operators by name. Those that Rushlight has under that name can be called.

An operator and its overloads (`torch.ops.aten.add.Tensor`) are also used as keys of tables, for operators that Rushlight
has not as well; calling these raises NotImplementedError.
"""

from . import missing_report
from .absent import absent_error

__all__ = ["AtenOperator", "AtenOverload", "operator"]

_made = {}


class AtenOverload:
    """One overload. Which one a call takes follows from its arguments, whichever it was asked for."""

    def __init__(self, name, overload, function):
        self._name, self._overload, self._function = name, overload, function
        self.__name__ = f"{name}.{overload}"
        self.__module__ = "torch._ops.aten"

    def __call__(self, *args, **kwargs):
        return _call(self._name, self._function, args, kwargs)

    def name(self):
        """aten::name, with the overload unless it is the default one."""
        return f"aten::{self._name}" + ("" if self._overload == "default" else f".{self._overload}")

    def __str__(self):
        return f"aten.{self._name}.{self._overload}"

    def __repr__(self):
        return f"<OpOverload(op='aten.{self._name}', overload='{self._overload}')>"


class AtenOperator:
    """An operator; its attributes are its overloads."""

    def __init__(self, name, function):
        self.__name__, self.__module__, self._function = name, "torch._ops.aten", function

    def __call__(self, *args, **kwargs):
        return _call(self.__name__, self._function, args, kwargs)

    def __getattr__(self, overload):
        if overload.startswith("_"):
            raise AttributeError(overload)
        made = self.__dict__[overload] = AtenOverload(self.__name__, overload, self._function)
        return made

    def __str__(self):
        return f"aten.{self.__name__}"

    def __repr__(self):
        return f"<OpOverloadPacket(op='aten.{self.__name__}')>"


def operator(name, function):
    """`torch.ops.aten.<name>`; `function` is None for one that Rushlight has not."""
    if name not in _made:
        _made[name] = AtenOperator(name, function)
    return _made[name]


def _call(name, function, args, kwargs):
    if function is None:
        path = f"torch.ops.aten.{name}"
        missing_report.note(path, "call")
        raise absent_error(path)
    return function(*args, **kwargs)
