"""Element types, and the type that an expression over several of them has.

A `dtype` is torch's public object around a NumPy dtype. Promotion follows torch: a value belongs to a category (bool <
integer < floating < complex), tensors with dimensions outrank 0-d tensors, which outrank Python numbers, and a
lower-ranked value changes the result only when its category is higher.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from ..jit_switch import jit

_KINDS = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3, "q": 4}


class dtype:
    """The element type of a tensor, such as `rushlight.float32`."""

    numpy: np.dtype
    is_signed: bool
    __slots__ = ("name", "numpy", "itemsize", "category", "is_floating_point", "is_complex", "is_signed", "_aliases")

    def __init__(self, name: str, array_type: Any, kind: str, *aliases: str):
        self.name = name
        if isinstance(array_type, int):
            self.itemsize = array_type  # in bytes: NumPy has no such type
        else:
            self.numpy = np.dtype(array_type)
            self.itemsize = self.numpy.itemsize
        self.category = _KINDS[kind]
        self.is_floating_point = kind == "f"
        self.is_complex = kind == "c"
        if kind != "q":
            self.is_signed = kind in "ifc"
        self._aliases = aliases

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    if not TYPE_CHECKING:  # else every name would be an attribute

        def __getattr__(self, name: str) -> Any:
            if name == "numpy":
                if self.category == _KINDS["q"]:
                    raise NotImplementedError(f"tensors of {self} are made by torch.quantize_per_tensor() only")
                raise NotImplementedError(f"there are no tensors of the type {self} here, only its name and its facts")
            if name == "is_signed":
                raise RuntimeError("isSignedType not supported for quantized types")
            raise AttributeError(f"'torch.dtype' object has no attribute '{name}'")

    def __reduce__(self):
        if jit.for_torch:
            type(self).__module__ = "torch"  # pickle then says torch.float32
            return self.name
        return _by_name, (self.name,)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def to_real(self) -> dtype:
        """The type of a complex type's parts; itself for a real type."""
        return {"complex32": float16, "complex64": float32, "complex128": float64}.get(self.name, self)

    def to_complex(self) -> dtype:
        """The complex type whose parts have this type, or hold it. Raises RuntimeError for a type of whole numbers."""
        if self.is_complex:
            return self
        found = {"float16": complex32, "bfloat16": complex64, "float32": complex64, "float64": complex128}.get(
            self.name
        )
        if found is None:
            raise RuntimeError(f"Unknown Complex ScalarType for {type_word(self)}")
        return found


float16 = half = dtype("float16", np.float16, "f", "half", "HalfTensor")
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, "f", "bfloat16", "BFloat16Tensor")
float32 = dtype("float32", np.float32, "f", "float", "FloatTensor")
float64 = double = dtype("float64", np.float64, "f", "double", "DoubleTensor")
uint8 = dtype("uint8", np.uint8, "u", "byte", "ByteTensor")
int8 = dtype("int8", np.int8, "i", "char", "CharTensor")
int16 = short = dtype("int16", np.int16, "i", "short", "ShortTensor")
int32 = dtype("int32", np.int32, "i", "int", "IntTensor")
int64 = long = dtype("int64", np.int64, "i", "long", "LongTensor")
uint16 = dtype("uint16", np.uint16, "u")
uint32 = dtype("uint32", np.uint32, "u")
uint64 = dtype("uint64", np.uint64, "u")
bool_ = dtype("bool", np.bool_, "b", "bool", "BoolTensor")
float8_e4m3fn = dtype("float8_e4m3fn", ml_dtypes.float8_e4m3fn, "f")  # types to store in: arithmetic is for the others
float8_e4m3fnuz = dtype("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz, "f")
float8_e5m2 = dtype("float8_e5m2", ml_dtypes.float8_e5m2, "f")
float8_e5m2fnuz = dtype("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz, "f")
float8_e8m0fnu = dtype("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu, "f")
complex32 = chalf = dtype("complex32", 4, "c", "chalf")
complex64 = cfloat = dtype("complex64", np.complex64, "c", "cfloat")
complex128 = cdouble = dtype("complex128", np.complex128, "c", "cdouble")
qint8 = dtype("qint8", 1, "q")  # whole numbers with a scale and a zero point: `rushlight.ops.quantized`
quint8 = dtype("quint8", 1, "q")
qint32 = dtype("qint32", 4, "q")
quint4x2 = dtype("quint4x2", 1, "q")
PAIRS = dtype("uint4", ml_dtypes.uint4, "u")  # of files: two levels of 4 bits in a byte

_WIDE = (uint16, uint32, uint64)
QUANTIZED = (qint8, quint8, qint32, quint4x2)
FLOAT8 = (float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu)
ALL = (
    float16, bfloat16, float32, float64, uint8, int8, int16, int32, int64, uint16, uint32, uint64, bool_, complex64,
    complex128, *FLOAT8,
)  # fmt: skip
_BY_NUMBER = {t.numpy.num: t for t in ALL}
_BY_NUMBER[np.dtype(np.longlong).num] = int64
_BY_NUMBER[np.dtype(np.ulonglong).num] = uint64
_BY_NAME = {t.name: t for t in (*ALL, complex32, *QUANTIZED, PAIRS)}


def _by_name(name: str) -> dtype:
    return _BY_NAME[name]


def _numpy_name(array_type: np.dtype) -> str:
    return f"numpy.{array_type.type.__name__}"


def from_numpy(array_type: np.dtype) -> dtype:
    """The dtype of a NumPy dtype. Raises TypeError where torch has none."""
    try:
        return _BY_NUMBER[array_type.num]
    except KeyError:
        raise TypeError(
            f"can't convert np.ndarray of type {_numpy_name(array_type)}. The only supported types are: float64, float32, float16, "
            "complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        ) from None


_WORDS = {
    "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double", "uint8": "Byte", "int8": "Char",
    "int16": "Short", "int32": "Int", "int64": "Long", "bool": "Bool", "complex32": "ComplexHalf", "complex64": "ComplexFloat",
    "complex128": "ComplexDouble", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
    "float8_e4m3fn": "Float8_e4m3fn", "float8_e4m3fnuz": "Float8_e4m3fnuz", "float8_e5m2": "Float8_e5m2",
    "float8_e5m2fnuz": "Float8_e5m2fnuz", "float8_e8m0fnu": "Float8_e8m0fnu",
    "qint8": "QInt8", "quint8": "QUInt8", "qint32": "QInt32", "quint4x2": "QUInt4x2",
}  # fmt: skip


def type_word(d: dtype) -> str:
    """The word for a dtype in torch's messages: 'Float', 'Long', ..."""
    return _WORDS[d.name]


_C_WORDS = {
    "float32": "float", "float64": "double", "float16": "c10::Half", "bfloat16": "c10::BFloat16", "uint8": "unsigned char",
    "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int", "bool": "bool",
    "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
}  # fmt: skip


def c_word(d: dtype) -> str:
    """The C++ name of a dtype, which a few of torch's messages show: 'float', 'long int', ..."""
    return _C_WORDS.get(d.name, d.name)


class _Default:
    """The default floating type, process-wide as in torch."""

    float = float32
    complex = complex64


def get_default_dtype() -> dtype:
    """The floating type of tensors made from Python floats."""
    return _Default.float


def set_default_dtype(d: dtype) -> None:
    """Set the floating type of tensors made from Python floats; `d` must be a floating type."""
    if type(d) is type:
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not isinstance(d, dtype):
        raise TypeError(f"invalid dtype object: {d!r}")
    if not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, got {d}")
    _Default.float = d
    _Default.complex = complex128 if d is float64 else complex64


def shown_type(a: Any) -> str:
    """What torch's messages of `expand` call a tensor: its type and shape, as in torch.FloatTensor{[2, 3]}."""
    return f"torch.{type_word(from_numpy(a.dtype))}Tensor{{{list(a.shape)}}}"


def of_number(value: Any) -> dtype:
    """The dtype that a Python number takes by itself."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, (int, np.integer)):
        return int64
    if isinstance(value, (float, np.floating, np.bool_)):  # torch takes a bool of NumPy's for a float
        return _Default.float
    if isinstance(value, (complex, np.complexfloating)):
        return _Default.complex
    raise TypeError(f"expected a number or a tensor, got {type(value).__name__}")


def of_argument(value: Any) -> Any:
    """What a `dtype` argument is for: the dtype of `int`, `float`, `bool` or `complex`, anything else as it is."""
    return _PYTHON_TYPES.get(value, value) if type(value) is type else value


_PYTHON_TYPES: dict[type, dtype] = {int: int64, float: float64, bool: bool_, complex: complex128}
_INTEGER_ORDER = (uint8, int8, int16, int32, int64)
_FLOAT_ORDER = (float32, float64)


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest type that holds both, by torch's table."""
    type1, type2 = of_argument(type1), of_argument(type2)
    if not isinstance(type1, dtype) or not isinstance(type2, dtype):
        wrong, name, place = (type2, "type2", 2) if isinstance(type1, dtype) else (type1, "type1", 1)
        words = f"argument '{name}' (position {place}) must be torch.dtype, not {type(wrong).__name__}"
        raise TypeError(f"promote_types(): {words}")
    if type1 in FLOAT8 or type2 in FLOAT8:
        raise RuntimeError(f"Promotion for Float8 Types is not supported, attempted to promote {type1} and {type2}")
    if type1 is type2:
        return type1
    if type1 in QUANTIZED or type2 in QUANTIZED:
        raise RuntimeError(
            "promoteTypes with quantized numbers is not handled yet; figure out what the correct rules should be, "
            f"offending types: {type_word(type1)} {type_word(type2)}"
        )
    if (type1 in _WIDE or type2 in _WIDE) and not (type1.is_floating_point or type2.is_floating_point):
        raise RuntimeError(
            f"Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{type_word(type1)} and {type_word(type2)}"
        )
    if type1.category != type2.category:
        low, high = (type1, type2) if type1.category < type2.category else (type2, type1)
        if high.is_complex and low is float64:
            return complex128
        return complex64 if high is complex32 and low in (float32, bfloat16) else high
    if type1.is_complex:
        return complex128 if complex128 in (type1, type2) else complex64
    if type1.is_floating_point:
        if float64 in (type1, type2):
            return float64
        return float32  # float16 with bfloat16, or either with float32
    return _promote_integers(type1, type2)


def _promote_integers(a: dtype, b: dtype) -> dtype:
    if uint8 not in (a, b):
        return max(a, b, key=lambda t: t.itemsize)
    other = a if b is uint8 else b
    return int16 if other is int8 else other


class Promotion:
    """Collects the values of one expression and tells its result type.

    Values with dimensions, 0-d tensors and Python numbers are distinguished, as torch ranks them.
    """

    __slots__ = ("dims", "zero", "number")

    def __init__(self):
        self.dims = self.zero = self.number = None

    def add_array(self, array_type: dtype, ndim: int) -> None:
        if ndim:
            self.dims = array_type if self.dims is None else promote_types(self.dims, array_type)
        else:
            self.zero = array_type if self.zero is None else promote_types(self.zero, array_type)

    def add_number(self, value: Any) -> None:
        t = uint64 if type(value) is int and value >> 63 == 1 else of_number(value)
        self.number = t if self.number is None else promote_types(self.number, t)

    def result(self) -> dtype:
        return _combine(_combine(self.dims, self.zero), self.number)


def _combine(high: dtype | None, low: dtype | None) -> dtype:
    if high is None:
        return low  # type: ignore[return-value]
    if low is None or high.category >= low.category:
        return high
    if high is bool_:
        return promote_types(high, low)
    if low.is_complex and high is float64:
        return complex128
    if low.is_complex and high in (float16, bfloat16, float32):
        return complex64 if low is complex64 or low is complex128 else low
    return low


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether torch lets an in-place result of type `from_` be stored into `to`."""
    from_, to = of_argument(from_), of_argument(to)
    if not isinstance(from_, dtype) or not isinstance(to, dtype):
        wrong, name, place = (to, "to", 2) if isinstance(from_, dtype) else (from_, "from_", 1)
        words = f"argument '{name}' (position {place}) must be torch.dtype, not {type(wrong).__name__}"
        raise TypeError(f"can_cast(): {words}")
    if from_.category == 3 and to.category < 3:
        return False
    if from_.category == 2 and to.category < 2:
        return False
    return not (from_.category == 1 and to.category == 0)
