"""Operators and conversions of generated code against NumPy, and elementary functions against longer arithmetic."""

import math
import warnings

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("llvmlite")

from native import map_native

from rushlight.compile.ir.expression import apply, cast
from rushlight.core.tensor import casting

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BFLOAT16]
INTS = [np.dtype(t) for t in (np.int8, np.int16, np.int32, np.int64, np.uint8)]
BOOL = np.dtype(np.bool_)
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, math.inf, -math.inf, math.nan, 1e-40, -1e-40, 5e-324, 1e30, -1e30]
EDGES = [88.7, 88.8, -87.4, -103.9, -104.1, 709.7, 709.8, -745.1, -746.0, 1e5, 2.0**25, -(2.0**26), 2.0**31, 2.0**63]


def numbers(dtype: np.dtype, count: int = 20_000, seed: int = 0) -> np.ndarray:
    """Special values, all binades, and the neighbourhoods where functions change their form."""
    rng = np.random.default_rng(seed)
    if dtype == BOOL:
        return rng.random(count) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        wide = rng.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
        return np.concatenate([wide, np.arange(-40 * (dtype.kind == "i"), 40), [info.min, info.max]]).astype(dtype)
    bits = rng.integers(0, 1 << (8 * dtype.itemsize - 1), count, dtype=f"u{dtype.itemsize}").view(dtype)
    parts = [np.array(SPECIAL + EDGES), rng.normal(size=count) * 3, rng.uniform(-100, 100, count)]
    parts += [rng.uniform(-1, 1, count), 1 + rng.normal(size=count) * 1e-3, rng.normal(size=count) * 1e-5]
    parts += [
        np.arange(-50.0, 50.0),
        np.arange(-100, 100) * (np.pi / 2),
    ]  # and quarter turns, where sin or cos is nearly 0
    with np.errstate(all="ignore"):
        return np.concatenate([bits, -bits, *(p.astype(dtype) for p in parts)])


# ------------------------------------------------------------------------------------- elementary functions

LIMITS = {  # units in the last place: float32, float64
    "exp": (1.5, 2),
    "log": (1.5, 2),
    "tanh": (1.5, 2),
    "sigmoid": (3, 3),  # rounded step by step as torch's
    "erf": (1.5, 2),
    **dict.fromkeys(["exp2", "expm1", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan"], (2, 2)),
    **dict.fromkeys(["sinh", "cosh", "asinh", "acosh", "atanh", "sqrt", "rsqrt", "reciprocal"], (2, 2)),
    "erfc": (4, 4),
}
_NUMPY = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh"}
_NUMPY["atanh"] = "arctanh"


def exact(name: str, x: np.ndarray) -> np.ndarray:
    """In x86's long double; erf and erfc in double."""
    if name in ("erf", "erfc"):
        return np.array([getattr(math, name)(v) for v in x.tolist()], np.longdouble)
    overflows = x < -np.log(np.finfo(x.dtype).max)
    x = x.astype(np.longdouble)
    if name == "sigmoid":
        z = np.exp(-np.abs(x))
        return np.where(overflows, 0, np.where(x < 0, z, 1) / (1 + z))
    if name == "rsqrt":
        return 1 / np.sqrt(x)
    return getattr(np, _NUMPY.get(name, name))(x)


def units(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """The error in units in the last place; infinite where nan or infinity differ."""
    rounded = want.astype(got.dtype)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    error = np.abs(got.astype(np.longdouble) - want) / np.spacing(np.abs(rounded)).astype(np.longdouble)
    return np.where(np.isfinite(error), error, np.where(same, 0, np.inf))


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
def test_elementary_functions_are_accurate(dtype):
    x = numbers(dtype)
    results = map_native([lambda e, name=name: apply(name, e) for name in LIMITS], x)
    with np.errstate(all="ignore"):
        for (name, limits), got in zip(LIMITS.items(), results, strict=True):
            error = units(got, exact(name, x))
            worst = int(np.argmax(error))
            assert error[worst] <= limits[dtype == np.float64], f"{name}({x[worst]}) = {got[worst]}: {error[worst]} ulp"


@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_huge_angles(name):
    x = np.array([1e8, 1e15, 1e22, 3.0e38, -1e10, 2.0**25, 2.0**25 + 8, 33554436.0], np.float32)
    (got,) = map_native([lambda e: apply(name, e)], x)
    np.testing.assert_allclose(got, getattr(np, name)(x.astype(np.float64)), rtol=2e-7)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_short_types_round_after_every_function(dtype):
    """As NumPy and ml_dtypes: computed in float32, rounded."""
    x = numbers(dtype, 5000)
    names = ["exp", "log", "tanh", "sqrt", "reciprocal", "square"]
    results = map_native([lambda e, name=name: apply(name, e) for name in names], x)
    if dtype.itemsize != 2:
        return
    with np.errstate(all="ignore"):
        for name, got in zip(names, results, strict=True):
            want = getattr(np, name)(x.astype(np.float32)).astype(dtype)
            same = (got == want) | (np.isnan(got) & np.isnan(want))
            assert (~same).mean() < 1e-3, name  # a tie may fall the other way


# ------------------------------------------------------------------------------------- exact operators

_FLOAT_UNARY = {
    "neg": np.negative, "abs": np.abs, "sign": np.sign, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc,
    "round": np.rint, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "signbit": np.signbit,
    "not": np.logical_not, "square": np.square, "sqrt": np.sqrt,
}  # fmt: skip
_FLOAT_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "fmod": np.fmod,
    "floordiv": np.floor_divide, "mod": np.remainder, "copysign": np.copysign, "maximum": np.maximum,
    "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
}  # fmt: skip
_INT_UNARY = {
    "neg": np.negative, "abs": np.abs, "sign": np.sign, "square": np.square,
    "not": np.logical_not, "invert": np.invert, "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
}  # fmt: skip
_INT_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "floordiv": np.floor_divide, "mod": np.remainder,
    "fmod": np.fmod, "maximum": np.maximum, "minimum": np.minimum, "fmax": np.fmax, "fmin": np.fmin, "lt": np.less,
    "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "shl": np.left_shift, "shr": np.right_shift,
}  # fmt: skip


def pairs(dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """Numbers side by side, special ones with each other."""
    x = numbers(dtype, 3000)
    y = np.random.default_rng(1).permutation(x)
    with np.errstate(all="ignore"):
        special = np.array(SPECIAL).astype(dtype) if dtype.kind not in "iub" else x[-42:]
    a, b = np.meshgrid(special, special)
    return np.concatenate([x, a.ravel()]), np.concatenate([y, b.ravel()])


_ANY_ZERO = ("maximum", "minimum", "fmax", "fmin", "sign")  # either zero will do


def assert_same(name, got, want, *args):
    want = want.astype(got.dtype)
    same = (got == want) | ((got != got) & (want != want))
    if got.dtype.kind not in "iub":
        same &= (np.signbit(got) == np.signbit(want)) | (got != got) | (name in _ANY_ZERO)
    i = int(np.argmin(same))
    assert same.all(), f"{name}({', '.join(str(a[i]) for a in args)}) = {got[i]}, not {want[i]}"


def check_operators(table, *args):
    cases = [lambda *e, name=name: apply(name, *e) for name in table]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for (name, function), got in zip(table.items(), map_native(cases, *args), strict=True):
            assert_same(name, got, np.asarray(function(*args)), *args)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_operators(dtype):
    x, y = pairs(dtype)
    for a in (x, y) if dtype != BFLOAT16 else ():
        a[np.isnan(a)] = np.nan  # quiet: ARM's maximum of a number and a signalling nan is nan
    check_operators(_FLOAT_UNARY, x)
    short = ("fmod", "floordiv", "mod", "fmax", "fmin")  # ml_dtypes rounds and signs these in its own way
    check_operators({k: f for k, f in _FLOAT_BINARY.items() if dtype != BFLOAT16 or k not in short}, x, y)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_integer_operators(dtype):
    x, y = pairs(dtype)
    check_operators(_INT_UNARY, x)
    check_operators(_INT_BINARY, x, y)


def test_bool_operators():
    x, y = np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool)
    check_operators({"not": np.logical_not, "invert": np.invert}, x)
    names = ["add", "mul", "maximum", "minimum", "and", "or", "xor", "lt", "le", "gt", "ge", "eq", "ne"]
    check_operators({name: _INT_BINARY[name] for name in names}, x, y)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_integer_power(dtype):
    x, y = np.meshgrid(np.arange(-5 * (dtype.kind == "i"), 9).astype(dtype), np.arange(12).astype(dtype))
    (got,) = map_native([lambda a, b: apply("pow", a, b)], x.ravel(), y.ravel())
    np.testing.assert_array_equal(got, np.power(x, y).ravel())


@pytest.mark.parametrize("dtype", FLOATS[:2], ids=str)
def test_functions_of_two_numbers(dtype):
    x, y = pairs(dtype)
    names = {"pow": np.power, "atan2": np.arctan2, "hypot": np.hypot, "logaddexp": np.logaddexp}
    results = map_native([lambda a, b, name=name: apply(name, a, b) for name in names], x, y)
    with np.errstate(all="ignore"):
        for (name, function), got in zip(names.items(), results, strict=True):
            want = function(x.astype(np.longdouble), y.astype(np.longdouble))
            error = units(got, want)
            if name == "logaddexp":  # its two terms may cancel, and the rounding of x - y counts in exp(x - y)
                error[np.abs(got - want) <= np.finfo(dtype).eps * (4 * np.abs(x) + 16 * np.abs(want))] = 0
            i = int(np.argmax(error))
            assert error[i] <= 3, f"{name}({x[i]}, {y[i]}) = {got[i]}, {error[i]} ulp"


def test_where():
    c, x, y = numbers(BOOL, 999), numbers(FLOATS[0])[:999], numbers(FLOATS[0], seed=3)[:999]
    values = map_native([lambda c, x, y: apply("where", c, x, y)], c, x, y)
    np.testing.assert_array_equal(values[0], np.where(c, x, y))


# ------------------------------------------------------------------------------------- conversions


@pytest.mark.parametrize("source", [*FLOATS, *INTS, BOOL], ids=str)
def test_casts(source):
    x = numbers(source, 3000)
    targets = [*FLOATS, *INTS, BOOL]
    results = map_native([lambda e, t=t: cast(apply("where", cast(e, BOOL), e, e), t) for t in targets], x)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for target, got in zip(targets, results, strict=True):
            if target == source:
                continue
            inside = np.ones(x.shape, bool)
            if target in INTS and source in FLOATS:  # a short integer of what it cannot hold is anything in C
                info = np.iinfo(np.int32 if target.itemsize < 4 else target)
                wide = x.astype(np.float64)
                inside = (wide >= info.min) & (wide < float(info.max) + (target.itemsize < 8))
                if target.itemsize >= 4:
                    inside[:] = True
            assert_same(f"cast to {target}", got[inside], casting.cast(x[inside], target), x[inside])
