"""Forward values against NumPy and the math module, which know nothing of the kernels' arrangement."""

import math

import numpy as np
import pytest

from rushlight.testing import suite
from rushlight.testing.samples import samples_of


def each(f):
    return np.vectorize(f, otypes=[float])


UNARY = {
    "abs": np.abs, "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh, "atan": np.arctan,
    "atanh": np.arctanh, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh, "deg2rad": np.deg2rad, "erf": each(math.erf),
    "erfc": each(math.erfc), "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "floor": np.floor,
    "frac": lambda x: x - np.trunc(x), "i0": np.i0, "lgamma": each(math.lgamma), "log": np.log, "log10": np.log10,
    "log1p": np.log1p, "log2": np.log2, "neg": np.negative, "rad2deg": np.rad2deg, "reciprocal": np.reciprocal,
    "relu": lambda x: np.where(x > 0, x, 0), "rsqrt": lambda x: 1 / np.sqrt(x), "sgn": np.sign,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "sign": np.sign, "sin": np.sin, "sinc": np.sinc, "sinh": np.sinh,
    "sqrt": np.sqrt, "square": np.square, "tan": np.tan, "tanh": np.tanh, "trunc": np.trunc,
    "silu": lambda x: x / (1 + np.exp(-x)), "softsign": lambda x: x / (1 + np.abs(x)),
    "tanhshrink": lambda x: x - np.tanh(x), "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6, "relu6": lambda x: np.clip(x, 0, 6),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))), "logsigmoid": lambda x: -np.log1p(np.exp(-x)),
}  # fmt: skip
BINARY = {
    "atan2": np.arctan2, "copysign": np.copysign, "fmax": np.fmax, "fmin": np.fmin, "hypot": np.hypot,
    "logaddexp": np.logaddexp, "logaddexp2": np.logaddexp2, "maximum": np.maximum, "minimum": np.minimum, "mul": np.multiply,
    "fmod": np.fmod, "remainder": np.mod, "xlogy": lambda x, y: x * np.log(y), "nextafter": np.nextafter,
    "pow": lambda x, y: np.power(x, float(y) if isinstance(y, int) else y), "true_divide": np.divide,
    "add": lambda x, y, alpha=1: x + alpha * y, "sub": lambda x, y, alpha=1: x - alpha * y,
    "rsub": lambda x, y, alpha=1: y - alpha * x, "lerp": lambda x, y, w: x + w * (y - x),
    "addcmul": lambda x, y, z, value=1: x + value * y * z, "addcdiv": lambda x, y, z, value=1: x + value * y / z,
    "where": np.where, "clamp_min": np.maximum, "clamp_max": np.minimum, "ldexp": lambda x, y: x * 2.0**y,
}  # fmt: skip


def over(reduce):
    """torch's (x, dim, keepdim) from NumPy's (x, axis, keepdims)."""
    return lambda x, dim=None, keepdim=False: reduce(x, axis=dim, keepdims=keepdim)


def softmax(x, dim):
    e = np.exp(x - x.max(dim, keepdims=True)) if x.ndim else np.ones(())
    return e / e.sum(dim, keepdims=True) if x.ndim else e


REST = {
    "sum": over(np.sum), "mean": over(np.mean), "nansum": over(np.nansum), "nanmean": over(np.nanmean),
    "amax": over(np.max), "amin": over(np.min),
    "logsumexp": over(lambda x, axis, keepdims: np.log(np.exp(x).sum(axis, keepdims=keepdims))),
    "cumsum": lambda x, dim: np.cumsum(x, dim if x.ndim else None).reshape(x.shape),
    "cumprod": lambda x, dim: np.cumprod(x, dim if x.ndim else None).reshape(x.shape),
    "matmul": np.matmul, "mm": np.matmul, "bmm": np.matmul, "mv": np.matmul, "dot": np.dot, "vdot": np.vdot, "inner": np.inner,
    "outer": np.outer, "kron": np.kron, "einsum": np.einsum, "tensordot": np.tensordot, "matrix_power": np.linalg.matrix_power,
    "trace": np.trace, "flip": np.flip, "fliplr": np.fliplr, "flipud": np.flipud, "roll": np.roll, "rot90": np.rot90,
    "tile": np.tile, "tril": np.tril, "triu": np.triu, "transpose": np.swapaxes, "permute": np.transpose, "t": np.transpose,
    "reshape": np.reshape, "unsqueeze": np.expand_dims, "movedim": np.moveaxis, "ravel": np.ravel, "broadcast_to": np.broadcast_to,
    "cat": lambda ts, dim=0: np.concatenate([t for t in ts if t.shape != (0,)], dim), "stack": lambda ts, dim=0: np.stack(ts, dim),
    "hstack": np.hstack, "vstack": np.vstack, "dstack": np.dstack, "column_stack": np.column_stack, "softmax": softmax,
    "log_softmax": lambda x, dim: np.log(softmax(x, dim)), "take": np.take, "index_select": lambda x, dim, i: np.take(x, i, dim),
    "linear": lambda x, w, b=0: x @ w.T + b, "masked_fill": lambda x, m, v: np.where(m, v, x), "masked_select": lambda x, m: x[m],
    "cov": lambda x, correction=1: np.cov(x, ddof=correction), "corrcoef": np.corrcoef, "diff": lambda x, n=1, dim=-1, prepend=np._NoValue: np.diff(x, n, dim, prepend),
    "quantile": lambda x, q, dim=None, keepdim=False: np.quantile(x, q, axis=dim, keepdims=keepdim),
}  # fmt: skip
ORACLES = {**UNARY, **BINARY, **REST}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ORACLES)
def test_forward(name):
    assert samples_of(name)
    for sample in samples_of(name):
        suite.check_oracle(name, sample, ORACLES[name])
