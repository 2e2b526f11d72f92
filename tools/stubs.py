"""`python -m tools.stubs`: write the stubs, by which editors complete and type checkers check a user's program.

What the registry tells becomes text: the signature that `inspect.signature` shows, a parameter's type by its name, the
first line of the docstring. `tools/overloads.pyi` has by hand what that cannot tell. `tests/typing/` holds the files to
what this module makes, and pyright with them to programs that are right and to lines that are wrong.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import math
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import rushlight
from rushlight.core.dispatch.return_types import KNOWN
from rushlight.core.tensor.tensor import Tensor
from rushlight.nn import functional
from rushlight.ops import OPS
from rushlight.torch import _lazy, fft, linalg, special
from rushlight.torch import functional as torch_functional
from rushlight.torch._moved import MOVED
from rushlight.torch.unavailable import REMOVED, ROWS
from tools import stub_package

ROOT = Path(rushlight.__file__).parent


def _each(kind: str, names: str) -> dict[str, str]:
    return dict.fromkeys(names.split(), kind)


TENSOR_OR_NUMBER, INTS, TENSORS = "Tensor | _Number", "_int | Sequence[_int]", "Sequence[Tensor]"

# parameter -> type, where the default does not tell; `| None` is added where the default is None
TYPES = {
    **_each(
        "Tensor",
        "input self src index indices mask mat1 mat2 mat vec vec1 vec2 tensor1 tensor2 batch1 batch2 x1 x2 input1 "
        "input2 target A L M LU_data LU_pivots query key grid attn_mask pos_weight condition boundaries "
        "sorted_sequence sorter bias weights per_sample_weights offsets running_mean running_var log_probs "
        "targets w_ih w_hh b_ih b_hh theta matrix imag real anchor positive negative tensor logits row col prob "
        "initial inputs out source fweights aweights prepend append a b",
    ),
    **_each(TENSOR_OR_NUMBER, "other exponent value end start min max fill_value elements test_elements"),
    **_each("_Number", "alpha beta nan posinf neginf"),
    **_each(
        INTS,
        "dim dims kernel_size stride padding dilation output_padding output_size axis normalized_shape shifts "
        "size sizes split_size_or_sections split_sizes pad shape destination indices_or_sections",
    ),
    **_each(
        "_int",
        "dim0 dim1 dim2 axis0 axis1 groups num_groups n k storage_offset diagonal offset num_samples num_classes chunks steps "
        "length ignore_index padding_idx upscale_factor downscale_factor minlength decimals start_dim end_dim "
        "edge_order start_index niter r N m dimension divisor_override num_layers",
    ),
    **_each(
        "_bool",
        "keepdim keepdims inplace requires_grad pin_memory unbiased align_corners train training sorted largest "
        "descending stable ceil_mode return_indices count_include_pad",
    ),
    **_each("_float", "eps rtol atol maxnorm max_norm norm_type margin tau delta momentum scale dropout_p"),
    **_each("_str", "reduction mode rounding_mode interpolation approximate indexing side padding_mode reduce"),
    "p": "_float", "dtype": "_dtype", "device": "_Device", "layout": "_layout", "memory_format": "_memory_format",
    "generator": "_Generator", "tensors": TENSORS, "tensor": "Tensor", "matrices": TENSORS,
    "weight": "Tensor", "correction": "_Number", "ndarray": "numpy.ndarray", "scale_factor": "_float | Sequence[_float]",
    "out_int32": "_bool", "right": "_bool", "hx": "Any", "values": "Any", "index_": "Any", "q": "Any", "out": "Any",
}  # fmt: skip
# where a parameter's name says something else in one function
PARTICULAR = {
    ("select", "index"): "_int", ("select_copy", "index"): "_int", ("lerp", "weight"): TENSOR_OR_NUMBER,
    ("lerp_", "weight"): TENSOR_OR_NUMBER, ("heaviside", "values"): "Tensor", ("bincount", "weights"): "Tensor",
    ("repeat_interleave", "repeats"): "_int | Tensor", ("lerp", "end"): "Tensor", ("lerp_", "end"): "Tensor",
    ("pad", "value"): "_Number", ("tensordot", "dims"): "_int | Sequence[Sequence[_int]]", ("threshold", "value"): "_float",
    ("threshold", "threshold"): "_float", ("gather", "input"): "Tensor", ("diff", "n"): "_int", ("nll_loss", "weight"): "Tensor",
    ("numel", "input"): "Tensor", ("is_floating_point", "input"): "Tensor", ("scatter", "src"): TENSOR_OR_NUMBER,
    ("scatter_", "src"): TENSOR_OR_NUMBER, ("conv1d", "padding"): INTS + " | _str", ("conv2d", "padding"): INTS + " | _str",
    ("conv3d", "padding"): INTS + " | _str", ("tensor_split", "indices_or_sections"): INTS + " | Tensor",
    ("linspace", "end"): TENSOR_OR_NUMBER, ("copy_", "src"): TENSOR_OR_NUMBER, ("sum_to_size", "size"): "Any", ("chain_matmul", "matrices"): "Tensor",
    ("block_diag", "tensors"): "Tensor", ("cartesian_prod", "tensors"): "Tensor", ("broadcast_tensors", "tensors"): "Tensor",
    ("index_put", "indices"): "Sequence[Tensor | None]", ("index_put_", "indices"): "Sequence[Tensor | None]",
    ("movedim", "source"): INTS, ("moveaxis", "source"): INTS, ("local_response_norm", "k"): "_float", ("glu", "dim"): "_int | None",
    **{(f"adaptive_{kind}_pool{n}d", "output_size"): "_int | Sequence[_int | None]" for kind in ("avg", "max") for n in (1, 2, 3)},
    ("ormqr", "tau"): "Tensor", ("orgqr", "tau"): "Tensor", ("tril_indices", "row"): "_int", ("tril_indices", "col"): "_int",
    ("triu_indices", "row"): "_int", ("triu_indices", "col"): "_int", ("searchsorted", "input"): TENSOR_OR_NUMBER,
    ("bucketize", "input"): TENSOR_OR_NUMBER, ("softmax", "_stacklevel"): "Any", ("log_softmax", "_stacklevel"): "Any",
    ("conv_transpose1d", "padding"): INTS + " | _str", ("conv_transpose2d", "padding"): INTS + " | _str",
    ("conv_transpose3d", "padding"): INTS + " | _str", ("kaiser_window", "beta"): "_float", ("full_like", "fill_value"): TENSOR_OR_NUMBER, ("binary_cross_entropy_with_logits", "reduction"): "_str | _int",
    **{(f"{n}{_}", p): "_int" for n in ("unsqueeze", "cumsum", "cumprod", "cummax", "cummin", "logcumsumexp") for _ in ("", "_") for p in ("dim", "axis")},
    **{(f"fft.{name}", p): kind for name in vars(fft)["__all__"] for p, kind in {"norm": "_str", "s": "Sequence[_int]"}.items()},
    **{(f"linalg.{name}", "ord"): "_Number | _str" for name in ("norm", "matrix_norm", "vector_norm")},
    **{(f"linalg.{name}", "driver"): "_str" for name in ("lstsq", "svd", "svdvals")},
    **{(f"linalg.{name}", p): TENSOR_OR_NUMBER for name in ("pinv", "matrix_rank", "lstsq") for p in ("rcond", "tol", "atol", "rtol")},
    **{("linalg." + name, "other"): "Tensor" for name in ("cross", "matmul")}, ("linalg.vecdot", "x"): "Tensor",
    ("linalg.vecdot", "y"): "Tensor", ("linalg.vander", "x"): "Tensor", ("linalg.vector_norm", "x"): "Tensor",
    ("linalg.householder_product", "tau"): "Tensor", ("linalg.solve_triangular", "upper"): "_bool", ("linalg.tensorinv", "ind"): "_int",
    ("linalg.cond", "p"): "_Number | _str", ("linalg.ldl_solve", "B"): "Tensor", ("linalg.tensorsolve", "dims"): "Sequence[_int]",
    **{(f"linalg.{name}", p): "Tensor" for name in ("lstsq", "solve", "solve_ex", "solve_triangular", "lu_solve", "ldl_solve", "tensorsolve")
       for p in ("B", "LU", "LD", "pivots")},
    ("interpolate", "mode"): "_str", ("is_storage", "obj"): "Any", ("isin", "elements"): TENSOR_OR_NUMBER,
}  # fmt: skip
TUPLE = "tuple[Tensor, ...]"
RETURNS = {
    **_each(
        "_bool",
        "allclose equal is_complex is_conj is_floating_point is_inference is_neg is_nonzero is_same_size "
        "is_signed is_contiguous is_pinned is_set_to is_coalesced is_shared is_distributed is_storage __bool__ "
        "__contains__ _is_view",
    ),
    **_each(
        "_int",
        "numel nelement dim ndimension element_size get_device data_ptr storage_offset sparse_dim dense_dim _nnz "
        "_dimI _dimV",
    ),
    **_each(
        TUPLE,
        "chunk split tensor_split unbind hsplit vsplit dsplit split_with_sizes unsafe_chunk unsafe_split gradient "
        "unsafe_split_with_sizes broadcast_tensors unbind_copy split_copy split_with_sizes_copy unravel_index",
    ),
    **_each(
        "Any",
        "max_pool1d_with_indices gru rnn_tanh rnn_relu lstm_cell native_dropout qr slogdet "
        "triangular_solve lu svd_lowrank pca_lowrank lu_unpack svd histogram lstm native_batch_norm "
        "native_layer_norm native_group_norm embedding_bag adaptive_max_pool1d adaptive_max_pool2d "
        "adaptive_max_pool3d fractional_max_pool2d fractional_max_pool3d max_pool1d max_pool2d max_pool3d "
        "histogramdd grouped_mm new storage untyped_storage storage_type _typed_storage as_subclass module_load "
        "dim_order to_dense",
    ),
    **_each("tuple[Tensor, Tensor]", "std_mean var_mean"),
    "broadcast_shapes": "Size", "retain_grad": "None", "resolve_conj": "Tensor", "__len__": "_int",
    "max_unpool1d": "Tensor", "_assert_async": "None",
}  # fmt: skip
# attributes of a tensor that its class does not describe; "Any" because `x.grad.zero_()` after a backward is no mistake, in the
# older spelling because Jedi completes nothing of `Tensor | Any`
ATTRIBUTES = {
    "shape": "Size", "ndim": "_int", "dtype": "_dtype", "device": "_device", "requires_grad": "_bool", "grad": "Union[Tensor, Any]",
    "data": "Tensor", "T": "Tensor", "mT": "Tensor", "H": "Tensor", "mH": "Tensor", "real": "Tensor", "imag": "Tensor",
    "is_leaf": "_bool", "itemsize": "_int", "nbytes": "_int", "layout": "_layout", "output_nr": "_int", "grad_fn": "Any",
    "_array": "numpy.ndarray", "_edge": "Any", "_grad": "Any", "_storage": "Any", "_view": "Any", "names": "Any", "retains_grad": "_bool",
    "_version": "_int", "_base": "Tensor | None", "_cdata": "_int", "__dict__": "dict[_str, Any]",
}  # fmt: skip
SETTABLE = {"requires_grad", "grad", "data", "real", "imag"}
NOT_METHODS = {"__new__", "__doc__", "__module__", "__annotations__", "__slots__", "__weakref__", "__hash__", "__dict__", "__init__",
               "__firstlineno__", "__static_attributes__"}  # fmt: skip

HEAD = "# Generated by `python -m tools.stubs`: edit the registry, that module or tools/overloads.pyi.\n"
TYPES_OF_STUBS = """
from builtins import bool as _bool, complex as _complex, float as _float, int as _int, str as _str
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, Union, overload

import numpy
from typing_extensions import Self, TypeIs
"""
ALIASES = """
_Number: TypeAlias = _int | _float | _bool | _complex
_Device: TypeAlias = _device | _str | _int | None
"""
OWN_TYPES = """
from {core}random import Generator as _Generator
from {core}device.devices import device as _device
from {core}tensor.dtype import dtype as _dtype
from {core}tensor.layout import layout as _layout, memory_format as _memory_format
from {core}tensor.size import Size
from {top}torch import return_types as _return_types
"""


def stubs() -> dict[Path, str]:
    """What each of the stubs contains."""
    for module in _lazy.METHODS:
        _lazy.load(module)
    return {
        ROOT / "__init__.pyi": HEAD + _package(),
        ROOT / "ops" / "__init__.pyi": HEAD + _operators(),
        ROOT / "core" / "tensor" / "tensor.pyi": HEAD + _tensor(),
        ROOT / "nn" / "functional" / "__init__.pyi": HEAD + _functional(),
        ROOT / "torch" / "return_types.pyi": HEAD + _return_types(),
        ROOT / "torch" / "special.pyi": HEAD + _names_of_operators(vars(special)["__all__"], "special."),
        ROOT / "torch" / "linalg.pyi": HEAD + _functions_of(linalg, "linalg."),
        ROOT / "torch" / "fft.pyi": HEAD + _functions_of(fft, "fft."),
        ROOT / "torch" / "functional.pyi": HEAD + _names_of_operators(vars(torch_functional)["__all__"]),
        ROOT / "py.typed": stub_package.MARKER,
        ROOT.parent / "rushlight_vision" / "py.typed": "",
    }


# ---------------------------------------------------------------------------------------------- signatures


@cache
def _by_hand() -> tuple[dict[str, list[ast.FunctionDef]], dict[str, list[ast.FunctionDef]]]:
    """The functions and the methods of `overloads.pyi`."""
    tree = ast.parse(Path(__file__).with_name("overloads.pyi").read_text())
    (tensor,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
    found: tuple[dict, dict] = {}, {}
    for table, body in zip(found, (tree.body, tensor.body)):
        for node in body:
            if isinstance(node, ast.FunctionDef):
                table.setdefault(node.name, []).append(node)
    return found


_INDICES = "return_indices: _bool = False"


def _as_method(node: ast.FunctionDef) -> str:
    """A function's definition as that of a method."""
    copy: Any = ast.parse(ast.unparse(node)).body[0]
    copy.args.args[0] = ast.arg("self")
    kept = [(a, d) for a, d in zip(copy.args.kwonlyargs, copy.args.kw_defaults) if a.arg != "out"]
    copy.args.kwonlyargs, copy.args.kw_defaults = [a for a, _ in kept], [d for _, d in kept]
    return ast.unparse(copy)


def _define(name: str, function: Callable, method: bool, space: str = "") -> str:
    """The definition of a function as a stub has it; the tables here have it under `space` + its name."""
    functions, methods = _by_hand()
    key = space + name
    if method and name in methods:
        texts = [ast.unparse(node) for node in methods[name]]
    elif key in functions and not (method and function is not OPS.get(name)):
        texts = [_as_method(node) if method else ast.unparse(node) for node in functions[name]]
    else:
        given = _given_parameters(function)
        returned = _returned(key, function, method)
        if any(_is_left_out(p) for p in given) and any(p.name == "axis" for p in given):  # `dim`, or NumPy's word
            needed = [p.replace(default=p.empty) if _is_left_out(p) or p.name == "axis" else p for p in given]
            ways = [[p for p in needed if p.name != "axis"], [p for p in needed if p.name != "dim"]]
            texts = [f"@overload\ndef {name}({_parameters(key, way, method)}) -> {returned}: ..." for way in ways]
            parameters = ""
        else:
            parameters = _parameters(key, given, method)
            texts = [f"def {name}({parameters}) -> {returned}: ..."]
        if _INDICES in parameters:
            plain = parameters.replace(_INDICES, "return_indices: Literal[False] = False")
            texts = [f"@overload\ndef {name}({plain}) -> Tensor: ...", f"@overload\n{texts[0]}"]
    doc = _first_line(function)
    texts[0] = re.sub(r":\s*\.\.\.$", f':\n    """{doc}"""\n    ...', texts[0]) if doc else texts[0]
    return "\n".join(texts) + "\n"


def _is_left_out(p: Any) -> bool:
    """Whether it is a `dim` that None would mean something for."""
    return p.name == "dim" and p.default is ...


def _first_line(function: Any) -> str:
    line = ((function is not None and getattr(function, "__doc__", None)) or "").strip().split("\n")[0]
    return line.replace("\\", "\\\\").replace('"', '\\"') if not line.startswith("See `rushlight.") else ""


def _given_parameters(function: Callable) -> list[inspect.Parameter]:
    try:
        return [*inspect.signature(function).parameters.values()]
    except ValueError:
        kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
        return [inspect.Parameter(name, kind) for name, kind in zip(("args", "kwargs"), kinds)]


def _parameters(name: str, parameters: list[inspect.Parameter], method: bool) -> str:
    texts, star = [], False
    if method:
        texts.append("self")
        if parameters and parameters[0].kind in (parameters[0].POSITIONAL_ONLY, parameters[0].POSITIONAL_OR_KEYWORD):
            parameters = parameters[1:]
        parameters = [p for p in parameters if p.name != "out"]
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not star:
            texts.append("*")
        star = star or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        texts.append(_parameter(name, p))
    return ", ".join(texts)


def _parameter(name: str, p: inspect.Parameter) -> str:
    stars = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
    default = "" if p.default is p.empty else f" = {_shown(p.default)}"
    if name.startswith("__"):
        kind = "Any" if "other" not in p.name else TENSOR_OR_NUMBER
    else:
        kind = _type_of(name, p)
    return f"{stars}{p.name}: {kind}{default}"


def _shown(value: Any) -> str:
    simple = (
        repr(value) == "None"
        or isinstance(value, (bool, int, str))
        or (isinstance(value, float) and math.isfinite(value))
    )
    return repr(value) if simple or (isinstance(value, tuple) and all(isinstance(v, int) for v in value)) else "..."


def _type_of(name: str, p: inspect.Parameter) -> str:
    stated = _translated(p.annotation)
    if stated:
        return stated
    kind = PARTICULAR.get((name, p.name)) or TYPES.get(p.name)
    if p.name in ("dim", "axis") and type(p.default) is int and kind == INTS:
        kind = "_int"
    if type(p.default) is int and kind == "_str":
        kind = "_int | _str"
    if kind is None:
        names = {bool: "_bool", int: "_Number", float: "_float", str: "_str"}
        kind = names.get(type(p.default), "Any")
    needs_none = repr(p.default) == "None" and kind not in ("Any", "_Device")
    return f"{kind} | None" if needs_none else kind


_WORDS = {n: "_" + n for n in ("int", "float", "bool", "complex", "str", "dtype", "device", "layout", "memory_format")}
_WORDS |= {
    n: n for n in ("Tensor", "Size", "None", "Callable", "Sequence", "Iterator", "tuple", "list", "dict", "Self")
}
_WORDS |= {"dtypes.dtype": "_dtype", "np.ndarray": "numpy.ndarray", "Generator": "_Generator", "type": "type"}


def _translated(annotation: Any) -> str:
    """An annotation in the stubs' words; empty if it says nothing, or more than those words."""
    if annotation is inspect.Parameter.empty:
        return ""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    words = re.findall(r"[A-Za-z_][\w.]*", text)
    if text == "Any" or any(w not in _WORDS and w != "Any" for w in words) or {"type", "dtype"} & set(words):
        return ""
    return re.sub(r"[A-Za-z_][\w.]*", lambda m: _WORDS.get(m[0], m[0]), text)


def _returned(name: str, function: Any, method: bool = True) -> str:
    if name in RETURNS:
        return RETURNS[name]
    stated = _translated(inspect.signature(function).return_annotation)
    if stated:
        return "Self" if method and stated == "Tensor" and re.fullmatch(r"[a-z]\w*_", name) else stated
    if (several := name.replace(".", "_")) in KNOWN:
        return f"_return_types.{several}"
    record = getattr(function, "record", None)
    if name.endswith("_") and not name.startswith("_"):
        return "Self" if method else "Tensor"
    if record is not None and record.outputs is not None and record.name == name:
        named = getattr(record.returns, "__name__", "")
        return f"_return_types.{named}" if named in KNOWN else TUPLE
    if name.startswith("__i") and name != "__invert__":
        return "Self"
    return "Any" if name.startswith("__") and name.strip("_") not in _OPERATORS else "Tensor"


_OPERATORS = _each(
    "Tensor",
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod div rdiv pow rpow and rand or ror xor rxor "
    "lshift rlshift rshift rrshift lt le gt ge eq ne",
)

# ---------------------------------------------------------------------------------------------- the files


def _operators() -> str:
    names = [n for n in OPS if n.isidentifier()]
    own = OWN_TYPES.format(core="..core.", top="..") + "from ..core.tensor.tensor import Tensor\n"
    parts = [
        TYPES_OF_STUBS,
        own,
        ALIASES,
        "OPS: dict[_str, Callable[..., Any]]\n",
        *(_define(n, OPS[n], False) for n in names),
    ]
    return "\n".join(parts)


def _tensor() -> str:
    members = dict(vars(Tensor))
    lines = [f"{n}: {t}" for n, t in ATTRIBUTES.items() if n not in members or n.startswith("_")]
    lines += [text for name, value in members.items() if name not in NOT_METHODS for text in _member(name, value)]
    head, tail = _source_of_tensor()
    own = OWN_TYPES.format(core="..", top="...").replace("from ..tensor.", "from .")
    body = [
        "__hash__ = object.__hash__",
        *(ast.unparse(n) for n in _by_hand()[1]["__new__"]),
        "def __init__(self, *args: Any, **kwargs: Any) -> None: ...",
    ]
    text = "\n".join([*body, *lines])
    doc = f'    """{Tensor.__doc__}"""\n'
    return "\n".join([TYPES_OF_STUBS, head, own, ALIASES, "class Tensor:", doc + _indented(text), tail])


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" if line else "\n" for line in text.splitlines())


def _member(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, property):
        if name.startswith("_") and name in ATTRIBUTES:
            return
        kind = ATTRIBUTES.get(name) or _returned(name, value.fget) if value.fget else "Any"
        doc = _first_line(value.fget)
        yield f"@property\ndef {name}(self) -> {kind}:\n" + (f'    """{doc}"""\n' if doc else "") + "    ..."
        if value.fset:
            taken = "Tensor | None" if name == "grad" else kind
            yield f"@{name}.setter\ndef {name}(self, value: {taken}) -> None: ..."
        if value.fdel:
            yield f"@{name}.deleter\ndef {name}(self) -> None: ..."
    elif isinstance(value, (classmethod, staticmethod)):
        yield f"@{type(value).__name__}\ndef {name}({'cls, ' if isinstance(value, classmethod) else ''}*args: Any, **kwargs: Any) -> Any: ..."
    elif inspect.isfunction(value):
        yield _define(name, value, True)
    elif name not in ATTRIBUTES or not name.startswith("_"):
        kind = ATTRIBUTES.get(name) or {bool: "_bool", int: "_int", str: "_str"}.get(type(value), "Any")
        if type(value).__name__ not in ("member_descriptor", "getset_descriptor"):
            yield f"{name}: {kind}"


def _source_of_tensor() -> tuple[str, str]:
    """What else the module of class Tensor has: the names that it imports, and its functions."""
    tree = ast.parse((ROOT / "core" / "tensor" / "tensor.py").read_text())
    keep = (ast.ImportFrom, ast.Import)
    imports = [
        ast.unparse(n)
        for n in tree.body
        if isinstance(n, keep) and not ast.unparse(n).startswith(("from __future__", "from typing"))
    ]
    imports = [re.sub(r"\b(\w+)(?=,|$)(?<!as )", r"\1 as \1", i) if " as " not in i else i for i in imports]
    functions = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
            node.body = [ast.Expr(ast.Constant(...))]
            functions.append(ast.unparse(node))
    return "\n".join(imports), "\n".join(functions) + "\n"


def _functional() -> str:
    """`nn.functional`: its own functions from the files that have them, operators from the registry's stub."""
    lines = []
    for name in vars(functional)["__all__"]:
        function = getattr(functional, name)
        home = "...ops" if function is OPS.get(name) else function.__module__.removeprefix(functional.__name__)
        lines.append(f"from {home} import {name} as {name}")
    return "\n".join(lines) + "\n"


def _names_of_operators(names: Iterable[str], space: str = "") -> str:
    """A module that shows operators: those that the registry's stub has, and those whose names are no identifiers."""
    lines = []
    for name in sorted(names):
        if OPS.get(name) is OPS.get(space + name, OPS.get(name)):
            lines.append(f"from ..ops import {name} as {name}")
        else:
            lines.append(_define(name, OPS[space + name], False))
    head = OWN_TYPES.format(core="..core.", top="..") + "from ..core.tensor.tensor import Tensor\n"
    return TYPES_OF_STUBS + head + ALIASES + "\n".join(lines) + "\n"


def _functions_of(module: Any, space: str) -> str:
    """A module of functions that are no operators of the registry by these names."""
    lines = []
    for name in sorted(vars(module)["__all__"]):
        value = getattr(module, name)
        if isinstance(value, type):
            lines.append(f"from ..{value.__module__.removeprefix('rushlight.')} import {name} as {name}")
        else:
            lines.append(_define(name, value, False, space))
    head = OWN_TYPES.format(core="..core.", top="..") + "from ..core.tensor.tensor import Tensor\n"
    return TYPES_OF_STUBS + head + ALIASES + "\n".join(lines) + "\n"


def _return_types() -> str:
    from rushlight.torch import return_types  # the operators with classes of their own have been loaded

    lines = ["from typing import NamedTuple", "from ..core.tensor.tensor import Tensor"]
    for name in dir(return_types):
        fields: Any = KNOWN[name]
        lines.append(f"class {name}(NamedTuple):")
        lines += [f"    {field}: Tensor" for field in fields._fields]
    return "\n".join(lines) + "\n"


def _package() -> str:
    tree = ast.parse((ROOT / "__init__.py").read_text())
    lines = [f'"""{ast.get_docstring(tree)}"""', "from typing import Any as _Any"]
    given: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            lines += _import(node, given)
    lines += [f"{name}: dtype" for name in ("float", "int", "bool")] + ["newaxis: None"]
    tables = vars(rushlight)  # the stub has no private names
    packages = sorted(n for n in tables["_LAZY_PACKAGES"] if "." not in n)
    for name in packages:
        if name == "vision":
            lines += ["import rushlight_vision", "vision = rushlight_vision"]
        elif name == "compile":
            lines.append("from .compile.api import compile as compile")  # a module that is called
        elif name in MOVED:
            lines.append(f"from . import {MOVED[name]} as {name}")
        elif name not in given:
            lines.append(f"from . import {name} as {name}")  # for some in the stub package
    for name, home in sorted(tables["_LAZY_NAMES"].items()):
        if home != "torch._stand_ins":
            lines.append(f"from .{home} import {name} as {name}")
        elif ROWS[name].reason is not REMOVED:
            lines.append(f"{name}: _Any")
    foreach = importlib.import_module("rushlight.ops.foreach")
    lines += [f"from .ops.foreach import {n} as {n}" for n in sorted(vars(foreach)) if n.startswith("_foreach_")]
    return "\n".join(lines) + "\n"


def _import(node: ast.ImportFrom, given: set[str]) -> Iterator[str]:
    """The names that an import of the package's file makes public."""
    source = "." * node.level + (node.module or "")
    names = [a.asname or a.name for a in node.names]
    if names == ["*"]:
        module = importlib.import_module(source, "rushlight")
        names = [n for n in module.__all__ if n.isidentifier()]
    for name in names:
        if name in given or (name.startswith("_") and not name.startswith("__") and source != ".ops"):
            continue
        given.add(name)
        yield f"from {source} import {name} as {name}"


def main(write: bool) -> int:
    """Write the files that differ, or with `--check` only name them; 1 if one differs then."""
    stale = {path: text for path, text in stubs().items() if not path.exists() or path.read_text() != text}
    for path, text in stale.items():
        print(path.relative_to(ROOT.parent))
        if write:
            path.write_text(text)
    if write:
        stub_package.write(ROOT.parent)
        return 0
    of_package = stub_package.stale(ROOT.parent)
    for path in of_package:
        print(path)
    return int(bool(stale or of_package))


if __name__ == "__main__":
    sys.exit(main("--check" not in sys.argv))
