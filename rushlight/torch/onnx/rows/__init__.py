"""Torch's operators in ONNX: a row for each, by the operator's name in `torch.ops.aten`.

A row is called with the builder, the result for the example, and an `Item` for each parameter of the operator's schema.
It gives the name of its result, a list of names for several, or an item. CannotExport says which option has no form.
"""

from . import layers, pointwise, recurrent, reductions, scans, searching, shapes

__all__ = ["ROWS", "ROWS_OF_NUMBERS"]

ROWS = pointwise.ROWS | reductions.ROWS | shapes.ROWS | layers.ROWS | recurrent.ROWS | scans.ROWS | searching.ROWS
ROWS_OF_NUMBERS = shapes.ROWS_OF_NUMBERS  # of operators whose result is a number
