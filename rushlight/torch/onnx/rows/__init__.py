"""Torch's operators in ONNX: a row for each, by the operator's name in `torch.ops.aten`.

A row is called with the builder, the result for the example, and an `Item` for each parameter of the operator's schema.
It gives the name of its result, a list of names for several, or an item. CannotExport says which option has no form.
"""

from . import (
    complex_numbers,
    draws,
    fourier,
    layers,
    losses,
    pointwise,
    recurrent,
    reductions,
    resizing,
    scans,
    searching,
    shapes,
    vision,
)

__all__ = ["COMPLEX_ROWS", "DRAWS", "ROWS", "ROWS_OF_NUMBERS"]

_NAMES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctanh": "atanh", "clip": "clamp", "concatenate": "cat", "fix": "trunc", "ger": "outer", "greater": "gt",
    "greater_equal": "ge", "less": "lt", "less_equal": "le", "moveaxis": "movedim", "negative": "neg", "not_equal": "ne",
    "row_stack": "vstack", "swapdims": "transpose", "argwhere": "nonzero",
}  # fmt: skip

ROWS = (
    pointwise.ROWS | reductions.ROWS | shapes.ROWS | layers.ROWS | resizing.ROWS | losses.ROWS | recurrent.ROWS | scans.ROWS
    | searching.ROWS | draws.ROWS | vision.ROWS
)  # fmt: skip
DRAWS = {*draws.ROWS, *draws.WITHOUT_FORM}
COMPLEX_ROWS = complex_numbers.ROWS | fourier.ROWS  # where an argument or the result is complex
ROWS |= {name: ROWS[usual] for name, usual in _NAMES.items()}
ROWS_OF_NUMBERS = shapes.ROWS_OF_NUMBERS  # of operators whose result is a number
