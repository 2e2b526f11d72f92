"""Special functions: gamma and error functions, Bessel functions, polynomials."""

from typing import Any

from ...core.dispatch.op import OPS


def __getattr__(name: str) -> Any:
    """The operator that pickles look for here, written when one file had the folder's name."""
    if name in OPS:
        return OPS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
