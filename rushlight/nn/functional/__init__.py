"""Functions of networks, under torch's names: those of `torch.nn.functional`.

These are the operators that are declared with functional=True, and the functions of the files here, whose arguments
differ from the operators'. No list repeats their names.
"""

from rushlight.core.dispatch.extension_points import function_tables as _function_tables
from rushlight.core.dispatch.op import FUNCTIONAL as _FUNCTIONAL
from rushlight.core.dispatch.op import OPS as _OPS
from rushlight.core.dispatch.torch_function import publish as _publish

from ..told_functions import note as _note
from . import (
    attention,
    classification_loss,
    dropping,
    grouped,
    normalization,
    pooling,
    probabilities,
    regression_loss,
    resize,
    similarity_loss,
)  # fmt: skip

_functions = {name: _OPS[name] for name in _FUNCTIONAL}
for _file in (
    attention, classification_loss, dropping, grouped, normalization, pooling, probabilities,
    regression_loss, resize, similarity_loss,
):  # fmt: skip
    _functions |= {
        name: value
        for name, value in vars(_file).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == _file.__name__
    }
globals().update(_functions)
__all__ = sorted(_functions)  # pyright: ignore[reportUnsupportedDunderAll]
_note(_functions)

_publish(globals())
_function_tables.register(globals())
