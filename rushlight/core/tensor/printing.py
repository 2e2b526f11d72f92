"""Printed forms: a tensor's `repr`, and the options that shape it.

A raw array and the facts about its tensor go in, torch's exact text comes out, in three steps:
cut the middle out of a long array, write every number into a cell, arrange the cells in nested rows.
"""

import contextlib
import math

import numpy as np

from ..device.buffer import Buffer
from .dtype import get_default_dtype

__all__ = ["describe_tensor", "get_printoptions", "printoptions", "set_printoptions", "tensor_repr"]

_PROFILES = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


class _Options:
    """The process-wide print options; `sci_mode` None means that the values decide."""

    __slots__ = ("edgeitems", "linewidth", "precision", "sci_mode", "threshold")

    def __init__(self):
        self.precision = 4
        self.threshold = 1000
        self.edgeitems = 3
        self.linewidth = 80
        self.sci_mode = None


_options = _Options()


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """Set the options by which tensors print.

    precision: digits after the point (4). threshold: element count above which the middle is left out (1000).
    edgeitems: items kept at each end of a cut dimension (3). linewidth: characters per line (80).
    profile: "default", "short" or "full" sets all of these at once; the other arguments refine it.
    sci_mode: True or False forces scientific notation on or off; None, also when omitted, lets the values decide.

    >>> set_printoptions(precision=2)
    >>> set_printoptions(profile="default")
    """
    changes = dict(_PROFILES.get(profile or "", {}))
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    changes.update((name, value) for name, value in given.items() if value is not None)
    for name, value in changes.items():
        setattr(_options, name, value)
    _options.sci_mode = sci_mode


def get_printoptions():
    """The current options as a dict that `set_printoptions(**options)` accepts."""
    return {name: getattr(_options, name) for name in ("precision", "threshold", "edgeitems", "linewidth", "sci_mode")}


@contextlib.contextmanager
def printoptions(**kwargs):
    """Context manager that sets the print options for its block; arguments as for `set_printoptions`."""
    before = get_printoptions()
    set_printoptions(**kwargs)
    try:
        yield
    finally:
        set_printoptions(**before)


def describe_tensor(tensor, contents=None):
    """The `repr` of a tensor of any class; `contents`, when given, replaces the text of its values."""
    cls = type(tensor)
    plain = cls.__module__ in ("rushlight.core.tensor.tensor", "rushlight.nn.parameter", "torch", "torch.nn.parameter")
    array, where = tensor._array, None
    if isinstance(array, Buffer):
        where = str(array.backend.device)
        array, contents = (
            (array.outline, contents or "...") if tensor.is_meta else (array.backend.to_host(array), contents)
        )
    text = tensor_repr(
        array,
        device=where,
        dtype_name=tensor.dtype.name,
        default_dtype=get_default_dtype().name,
        grad_fn=None if tensor.grad_fn is None else type(tensor.grad_fn).__name__,
        requires_grad=tensor.requires_grad,
        prefix="tensor" if plain else cls.__name__,
        contents=contents,
    )
    is_parameter = getattr(tensor, "_is_param", False) or any(base.__name__ == "Parameter" for base in cls.__mro__)
    return f"Parameter({text})" if is_parameter and not plain else text


def tensor_repr(
    array,
    *,
    dtype_name=None,
    default_dtype="float32",
    grad_fn=None,
    requires_grad=False,
    device=None,
    prefix="tensor",
    contents=None,
):
    """Torch's text for a tensor over `array`.

    array: (*) of any dtype, NumPy's or ml_dtypes'. dtype_name: the dtype as torch names it (default: the array's name).
    default_dtype: name of the default floating dtype; it, its complex partner, int64 and bool are not printed.
    grad_fn: class name of the history node, or None; requires_grad is printed only without one.
    device: printed when not None. prefix: text before the parenthesis; its last line sets the indentation.
    contents: printed in place of the values when not None.

    >>> tensor_repr(np.array([1.0, 2.5], dtype=np.float32), requires_grad=True)
    'tensor([1.0000, 2.5000], requires_grad=True)'
    """
    head = prefix + "("
    indent = len(head) - head.rfind("\n") - 1
    suffixes = [] if device is None else [f"device='{device}'"]
    suffixes += _size_and_dtype(array, dtype_name or array.dtype.name, default_dtype, contents == "...")
    if grad_fn is not None:
        suffixes.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    text = _contents(array, indent) if contents is None else contents
    return _add_suffixes(head + text, suffixes, indent)


def _size_and_dtype(array, dtype_name, default_dtype, hidden):
    if hidden:
        size_shown, shown_by_form = True, (default_dtype,)
    elif array.size == 0:
        size_shown = array.ndim != 1
        shown_by_form = (default_dtype,)  # no element is there to show that a tensor is int64 or bool
    else:
        size_shown = not _options.edgeitems
        default_complex = "complex128" if default_dtype == "float64" else "complex64"
        shown_by_form = (default_dtype, default_complex, "int64", "bool")
    if size_shown:
        yield f"size={tuple(array.shape)}"
    if dtype_name not in shown_by_form:
        yield f"dtype=torch.{dtype_name}"


def _add_suffixes(tensor_str, suffixes, indent, force_newline=False):
    """The text with suffixes after it, on new lines where they would be too long; force_newline: the first one always."""
    parts = [tensor_str]
    length = len(tensor_str) - tensor_str.rfind("\n") + 1  # torch counts two too many here, and so do its line breaks
    for suffix in suffixes:
        if force_newline or length + len(suffix) + 2 > _options.linewidth:
            parts.append(",\n" + " " * indent + suffix)
            length, force_newline = indent + len(suffix), False
        else:
            parts.append(", " + suffix)
            length += len(suffix) + 2
    return "".join(parts) + ")"


def _tensor_str(tensor, indent):
    """The numbers of a tensor as they are printed, in lines that begin after `indent` characters."""
    return _contents(tensor._array, indent)


def _contents(array, indent):
    if array.size == 0:
        return "[]"
    shape, edge = array.shape, _options.edgeitems
    summarize = array.size > _options.threshold
    if summarize and shape and not edge:
        return "[...]"
    cut = tuple(summarize and size > 2 * edge for size in shape)
    for axis in range(len(shape)):
        if cut[axis]:
            array = np.concatenate(_ends(array, axis, edge), axis=axis)
    cells, width = _cells(array)
    return _rows(cells, width, array.shape, cut, indent)


def _ends(array, axis, edge):
    before = (slice(None),) * axis
    return array[*before, :edge], array[*before, -edge:]


def _rows(cells, width, shape, cut, indent):
    """The nested, indented text of `cells`, the elements of an array of `shape` in order."""
    if not shape:
        return cells[0]
    edge = _options.edgeitems
    if len(shape) == 1:
        row = [*cells[:edge], " ...", *cells[edge:]] if cut[0] else cells
        count = max(1, math.floor((_options.linewidth - indent) / (width + 2)))
        lines = [", ".join(row[i : i + count]) for i in range(0, len(row), count)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    step = len(cells) // shape[0]
    rows = [_rows(cells[i : i + step], width, shape[1:], cut[1:], indent + 1) for i in range(0, len(cells), step)]
    if cut[0]:
        rows.insert(edge, "...")
    return "[" + ("," + "\n" * (len(shape) - 1) + " " * (indent + 1)).join(rows) + "]"


def _cells(array):
    """The text of every element, in order, padded as torch pads it, and the width that lines are planned by."""
    flat = array.reshape(-1)
    kind = flat.dtype.kind
    if kind == "c":
        reals, real_width = _float_cells(flat.real)
        imags, imag_width = _float_cells(flat.imag)
        return [_complex_cell(*pair) for pair in zip(reals, imags, strict=True)], real_width + imag_width + 1
    if kind in "iub":
        texts = [str(value) for value in flat.tolist()]
        width = max(map(len, texts))
        return [text.rjust(width) for text in texts], width
    return _float_cells(flat)


def _complex_cell(real, imag):
    imag = imag.lstrip() + "j"
    return real + imag if imag[0] in "+-" else f"{real}+{imag}"


def _float_cells(flat):
    values = flat.astype(np.float64)
    counted = np.isfinite(values) & (values != 0)  # only these decide on notation and width
    spec, point = _notation(values[counted])
    texts = [format(value, spec) for value in values.tolist()]
    if point:
        texts = [
            text + "." if math.isfinite(value) else text for text, value in zip(texts, values.tolist(), strict=True)
        ]
    width = max((len(texts[i]) for i in np.flatnonzero(counted)), default=1)
    return [text.rjust(width) for text in texts], width


def _notation(values):
    """Format spec for floats among which `values` are the finite nonzero ones, and whether to add a bare point."""
    if values.size == 0:
        return ".0f", True
    magnitudes = np.abs(values)
    smallest, largest = float(magnitudes.min()), float(magnitudes.max())
    scientific = _options.sci_mode
    if scientific is None:
        scientific = largest / smallest > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4
    if scientific:
        return f".{_options.precision}e", False
    if (values == np.ceil(values)).all():
        return ".0f", True
    return f".{_options.precision}f", False
