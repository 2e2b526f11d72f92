"""Sample inputs of every operator, by table: what the operator suite calls.

`SAMPLES` maps a public name (or "Tensor.name" for methods that are no functions) to its samples (`descriptions.py` says
what a sample is); `WITHOUT_GRADIENT` names the operators that need none because nothing can be differentiated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import ops
from ..core.dispatch.op import OPS
from ..core.tensor import dtype as dtypes
from ..core.tensor.tensor import Tensor
from . import samples_layers, samples_recurrent
from .descriptions import F, Fixed, S, Sample
from .shapes import BATCH, COLUMN, HALF, I01, MASK, ONE, POSITIVE, ROW, SQUARE, V3, V4, X, Y, Z

__all__ = ["SAMPLES", "WITHOUT_GRADIENT", "covered", "function_of", "samples_of"]

SAMPLES: dict[str, list[Sample]] = {**samples_layers.SAMPLES, **samples_recurrent.SAMPLES}


def _table(rows: dict[str, list[Sample]]) -> None:
    SAMPLES.update(rows)


# ---------------------------------------------------------------------------------------------- pointwise

_UNARY_DOMAINS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(["acos", "asin", "atanh", "erfinv"], (-0.9, 0.9)),
    **dict.fromkeys(["log", "log2", "log10", "sqrt", "rsqrt", "special_entr", "lgamma", "digamma"], (0.3, 3.0)),
    "acosh": (1.2, 3.0),
    "log1p": (-0.7, 2.0),
    "special_ndtri": (0.05, 0.95),
    "reciprocal": (0.3, 2.0),
    "tan": (-1.2, 1.2),
}
for _name in [
    "abs",
    "acos",
    "acosh",
    "angle",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "ceil",
    "cos",
    "cosh",
    "deg2rad",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "frac",
    "i0",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "neg",
    "rad2deg",
    "reciprocal",
    "rsqrt",
    "sgn",
    "sigmoid",
    "sign",
    "sin",
    "sinc",
    "sinh",
    "special_entr",
    "special_erfcx",
    "special_i0e",
    "special_i1",
    "special_i1e",
    "special_log_ndtr",
    "special_ndtr",
    "special_ndtri",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
    "relu",
]:
    _low, _high = _UNARY_DOMAINS.get(_name, (-2.0, 2.0))
    SAMPLES[_name] = [S(F(2, 3, low=_low, high=_high)), S(F(low=_low, high=_high)), S(F(0, 3))]

for _name in ["atan2", "copysign", "fmax", "fmin", "hypot", "logaddexp", "logaddexp2", "maximum", "minimum", "mul"]:
    SAMPLES[_name] = [S(X, Y), S(X, ROW), S(COLUMN, ROW), S(ONE, X), S(F(0, 3), ROW)]
for _name in ["fmod", "remainder"]:
    SAMPLES[_name] = [S(F(2, 3, low=-5.0, high=5.0), F(3, low=1.3, high=2.9)), S(X, 0.7), S(F(0), F(0))]
_table(
    {
        "xlogy": [S(X, POSITIVE), S(ROW, POSITIVE), S(F(0), F(0))],
        "special_xlog1py": [S(X, POSITIVE), S(F(0), F(0))],
        "special_zeta": [S(2.5, POSITIVE)],
        "add": [S(X, Y), S(X, ROW, alpha=2.5), S(X, 2.0), S(ONE, X)],
        "sub": [S(X, Y), S(COLUMN, ROW, alpha=0.5), S(X, 2.0)],
        "rsub": [S(X, Y), S(X, 2.0, alpha=3)],
        "div": [
            S(X, POSITIVE),
            S(X, 2.0),
            S(X, POSITIVE, rounding_mode="floor"),
            S(X, POSITIVE, rounding_mode="trunc"),
        ],
        "true_divide": [S(X, POSITIVE)],
        "pow": [S(POSITIVE, Y), S(X, 3), S(X, 2), S(POSITIVE, 0.5), S(2.0, X), S(POSITIVE, -1), S(X, 0)],
        "float_power": [S(POSITIVE, Y), S(X, 2)],
        "ldexp": [S(X, ROW), S(X, Fixed([[1, 0, 2]]))],
        "lerp": [S(X, Y, 0.3), S(X, Y, HALF), S(X, ROW, ONE)],
        "addcmul": [S(X, Y, Z), S(X, ROW, COLUMN, value=0.5)],
        "addcdiv": [S(X, Y, POSITIVE), S(X, ROW, POSITIVE, value=0.5)],
        "clamp": [
            S(X, -0.5, 0.8),
            S(X, min=0.1),
            S(X, None, 0.3),
            S(X, F(2, 3, low=-1.0, high=-0.4), F(2, 3, low=0.4, high=1.0)),
        ],
        "clamp_min": [S(X, 0.1), S(X, Y)],
        "clamp_max": [S(X, 0.1), S(X, Y)],
        "where": [S(MASK, X, Y), S(MASK, X, 2.0), S(MASK, ROW, ONE)],
        "logit": [S(HALF), S(HALF, eps=1e-3)],
        "nan_to_num": [S(X), S(X, nan=1.0)],
        "round": [S(X), S(X, decimals=2)],
        "polygamma": [S(1, POSITIVE), S(2, POSITIVE)],
        "mvlgamma": [S(F(2, 3, low=2.0, high=4.0), 2)],
        "frexp": [S(X)],
        "positive": [S(X)],
        "_neg_view": [S(X)],
        "conj": [S(X), S(F(2, 3, complex=True))],
        "conj_physical": [S(X), S(F(2, 3, complex=True))],
        "real": [S(F(2, 3, complex=True))],
        "imag": [S(F(2, 3, complex=True))],
        "complex": [S(X, Y)],
        "view_as_real": [S(F(3, complex=True))],
        "view_as_complex": [S(F(3, 2))],
        "fill": [S(X, 2.0), S(X, ONE)],
        "clone": [S(X), S(F(0, 3))],
        "nextafter": [S(X, Y)],
        "igamma": [S(Fixed([[1.5], [2.5]], dtypes.float64), POSITIVE)],
        "igammac": [S(Fixed([[1.5], [2.5]], dtypes.float64), POSITIVE)],
    }
)

# ---------------------------------------------------------------------------------------------- reductions and order

for _name in ["sum", "mean", "nansum", "nanmean"]:
    SAMPLES[_name] = [S(X), S(X, 1), S(X, (0, 1), keepdim=True), S(ONE), S(BATCH, (0, 2))]
for _name in ["prod", "max", "min", "median", "nanmedian"]:
    SAMPLES[_name] = [S(X), S(X, 1), S(X, 0, keepdim=True), S(ONE), S(BATCH, -2)]
for _name in ["std", "var", "std_mean", "var_mean"]:
    SAMPLES[_name] = [S(X), S(X, 1), S(X, dim=1, keepdim=True, correction=0), S(X, 0, False), S(BATCH, (0, 2))]
for _name in ["amax", "amin"]:
    SAMPLES[_name] = [S(X, 1), S(X), S(BATCH, (0, 2), keepdim=True)]
for _name in ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"]:
    SAMPLES[_name] = [S(X, 1), S(BATCH, 0), S(ONE, 0)]
for _name in ["quantile", "nanquantile"]:
    SAMPLES[_name] = [S(X, 0.4), S(X, Fixed([0.2, 0.7], dtypes.float64), dim=1), S(X, 0.3, dim=0, keepdim=True)]
_table(
    {
        "aminmax": [S(X), S(X, dim=1), S(X, dim=0, keepdim=True)],
        "logsumexp": [S(X, 1), S(BATCH, (0, 2)), S(X, 0, keepdim=True)],
        "norm": [S(X), S(X, 1), S(X, 3, 1), S(X, float("inf"), 1), S(X, "fro", (0, 1)), S(X, 2, 1, True)],
        "sort": [S(X), S(X, 0, descending=True), S(ONE)],
        "msort": [S(X)],
        "topk": [S(X, 2), S(X, 1, 0, False)],
        "kthvalue": [S(X, 2), S(X, 1, 0, True)],
        "mode": [S(X), S(X, 0, True)],
        "diff": [S(X), S(X, 2, -1), S(X, 1, 0, prepend=F(1, 3))],
        "trapezoid": [S(X), S(X, dx=0.5), S(X, ROW)],
        "cumulative_trapezoid": [S(X), S(X, dx=0.5)],
        "cov": [S(X), S(X, correction=0)],
        "corrcoef": [S(F(3, 4))],
        "dist": [S(X, Y), S(X, Y, 1)],
        "cdist": [
            S(F(2, 3), F(4, 3)),
            S(F(2, 3), F(4, 3), p=1.0),
            S(F(2, 3), F(4, 3), p=3.0),
            S(F(2, 3), F(4, 3), compute_mode="use_mm_for_euclid_dist"),
        ],
        "pdist": [S(F(4, 3)), S(F(4, 3), 1.0)],
        "trace": [S(SQUARE), S(X)],
    }
)

# ---------------------------------------------------------------------------------------------- views and copies

_VIEWS: dict[str, list[Sample]] = {
    "alias": [S(X)],
    "as_strided": [S(X, (2, 2), (1, 2)), S(X, (2,), (2,), 1), S(X, (2, 2), (1, 1))],
    "detach": [S(X)],
    "diagonal": [S(SQUARE), S(BATCH, 1, 1, 2), S(X, -1)],
    "expand": [S(COLUMN, (2, 3)), S(ROW, (2, 3)), S(ROW, (2, -1)), S(ONE, (2, 2))],
    "permute": [S(X, (1, 0)), S(BATCH, (2, 0, 1))],
    "select": [S(X, 1, 0), S(BATCH, 0, -1)],
    "slice": [],
    "split": [S(X, 2, 1), S(X, 1)],
    "split_with_sizes": [S(X, [1, 2], 1)],
    "squeeze": [S(F(1, 2, 1), (0, 2)), S(F(2, 1, 3)), S(COLUMN, 1), S(X, 0)],
    "t": [S(X), S(ROW)],
    "transpose": [S(X, 0, 1), S(BATCH, 0, -1)],
    "unbind": [S(X), S(X, 1)],
    "unsqueeze": [S(X, 0), S(X, -1)],
    "view": [],
    "unfold": [],
}
SAMPLES.update({k: v for k, v in _VIEWS.items() if v and k not in ("alias", "expand", "detach")})
SAMPLES.update({k + "_copy": v for k, v in _VIEWS.items() if v and k != "detach"})
_table(
    {
        "slice_copy": [S(X, 1, 0, 2), S(X, 0, 1)],
        "view_copy": [S(X, (3, 2))],
        "view_as_real_copy": [S(F(3, complex=True))],
        "view_as_complex_copy": [S(F(3, 2))],
        "unfold_copy": [S(F(5), 0, 2, 1)],
        "Tensor.view": [S(X, 3, 2), S(X, -1), S(F(0, 3), 3, 0)],
        "Tensor.view_as": [S(X, F(3, 2))],
        "Tensor.expand": _VIEWS["expand"],
        "Tensor.expand_as": [S(ROW, X)],
        "Tensor.unfold": [S(F(5), 0, 2, 1), S(X, 1, 2, 1)],
        "Tensor.repeat": [S(X, 2, 1), S(ROW, 2, 2)],
        "Tensor.contiguous": [S(X)],
        "Tensor.to": [S(X, dtypes.float32)],
        "Tensor.double": [S(X)],
        "Tensor.sum_to_size": [S(X, 1, 3)],
        "Tensor.reshape_as": [S(X, F(3, 2))],
        "Tensor.new_tensor": [],
        "reshape": [S(X, (3, 2)), S(X, (-1,)), S(F(0, 3), (3, 0))],
        "flatten": [S(BATCH), S(BATCH, 1), S(ONE)],
        "unflatten": [S(F(6), 0, (2, 3)), S(F(2, 4), 1, (2, -1))],
        "ravel": [S(X)],
        "narrow": [S(X, 1, 1, 2)],
        "narrow_copy": [S(X, 1, 1, 2)],
        "movedim": [S(BATCH, 0, 2)],
        "swapaxes": [S(X, 0, 1)],
        "swapdims": [S(X, 0, 1)],
        "adjoint": [S(X)],
        "chunk": [S(X, 2, 1)],
        "unsafe_split": [S(X, 2, 1)],
        "tensor_split": [S(X, 2, 1), S(X, [1], 1)],
        "hsplit": [S(F(2, 4), 2)],
        "vsplit": [S(F(4, 2), 2)],
        "dsplit": [S(F(1, 2, 4), 2)],
        "broadcast_to": [S(ROW, (2, 3))],
        "broadcast_tensors": [S(ROW, COLUMN)],
        "atleast_1d": [S(ONE), S(X)],
        "atleast_2d": [S(ROW)],
        "atleast_3d": [S(X)],
        "resolve_conj": [S(X)],
        "resolve_neg": [S(X)],
    }
)

# ---------------------------------------------------------------------------------------------- joins and moves

for _name in ["cat", "stack", "hstack", "vstack", "dstack", "column_stack"]:
    SAMPLES[_name] = [S([X, Y]), S([X])]
SAMPLES["cat"] += [S([X, F(2, 1)], 1), S([F(0), X])]
SAMPLES["stack"] += [S([X, Y], 1), S([ONE, ONE])]
_table(
    {
        "block_diag": [S(X, SQUARE)],
        "cartesian_prod": [S(V3, F(2))],
        "combinations": [S(V4), S(V3, 2, True)],
        "meshgrid": [S(V3, F(2), indexing="ij"), S(V3, F(2), indexing="xy")],
        "flip": [S(X, (0,)), S(X, (0, 1))],
        "fliplr": [S(X)],
        "flipud": [S(X)],
        "roll": [S(X, 1), S(X, (1, 1), (0, 1))],
        "rot90": [S(X), S(X, 2), S(X, 0)],
        "tile": [S(X, (2, 1))],
        "repeat_interleave": [S(X, 2), S(X, Fixed([1, 2]), 0), S(X, 2, 1)],
        "diag": [S(V3), S(SQUARE, 1)],
        "diagflat": [S(X), S(V3, 1)],
        "diag_embed": [S(X), S(V3, 1)],
        "tril": [S(X), S(BATCH, 1)],
        "triu": [S(X), S(BATCH, -1)],
        "kron": [S(X, F(2, 2))],
        "constant_pad_nd": [S(X, (1, 2)), S(X, (1, 0, 0, 1), 0.5)],
        "pad": [
            S(X, (1, 2)),
            *(
                S(F(1, 1, *(3,) * n), (1, 2) * n, mode)
                for mode in ("reflect", "replicate", "circular")
                for n in (1, 2, 3)
            ),
        ],
    }
)

# ---------------------------------------------------------------------------------------------- indices

_INDEX = Fixed([[0, 1, 0]])
_table(
    {
        "Tensor.__getitem__": [
            S(X, Ellipsis), S(X, None), S(X, 0), S(X, (slice(None), slice(0, 2))), S(X, (Ellipsis, None, 1)), S(X, I01), S(X, MASK), S(X, (I01, Fixed([2, 0]))),
            S(X, ([0, 0], slice(1, None))), S(BATCH, (slice(None), I01, 1)),
        ],
        "gather": [S(X, 0, _INDEX), S(X, 1, Fixed([[0, 2], [1, 1]])), S(ONE, 0, Fixed(0))],
        "take_along_dim": [S(X, Fixed([[0, 2], [1, 1]]), 1), S(X, Fixed([0, 5]))],
        "take": [S(X, Fixed([[0, 5], [2, 2]]))],
        "put": [S(X, Fixed([0, 5]), F(2)), S(X, Fixed([0, 5]), F(2), True)],
        "index_select": [S(X, 1, Fixed([0, 2, 2])), S(X, 0, I01)],
        "index_add": [S(X, 0, I01, Y), S(X, 1, Fixed([0, 0]), F(2, 2), alpha=0.5)],
        "index_copy": [S(X, 0, I01, Y)],
        "index_fill": [S(X, 1, Fixed([0, 2]), 0.5), S(X, 1, Fixed([0, 2]), ONE)],
        "index_put": [S(X, (I01, Fixed([2, 0])), F(2)), S(X, (Fixed([0, 0]),), ROW, True)],
        "masked_fill": [S(X, MASK, 0.5), S(X, MASK, ONE)],
        "masked_scatter": [S(X, MASK, F(6))],
        "masked_select": [S(X, MASK)],
        "scatter": [S(X, 0, _INDEX, F(1, 3)), S(X, 1, Fixed([[0], [2]]), 0.5)],
        "scatter_add": [S(X, 0, Fixed([[0, 1, 0], [0, 0, 1]]), Y)],
        "scatter_reduce": [
            S(X, 0, Fixed([[0, 1, 0], [0, 0, 1]]), Y, r) for r in ("sum", "mean", "prod", "amax", "amin")
        ],
        "index_reduce": [S(X, 0, Fixed([1, 0]), Y, r) for r in ("mean", "prod", "amax", "amin")],
        "segment_reduce": [S(SQUARE, r, lengths=Fixed([2, 1])) for r in ("sum", "mean", "prod", "max", "min")],
        "vander": [S(V3), S(V3, 2, True)],
        "gradient": [S(F(3, 4)), S(F(3, 4), dim=1, edge_order=2)],
        "renorm": [S(X, 2, 0, 1.0), S(X, 1, 1, 100.0)],
        "polar": [S(POSITIVE, Y)],
        "isin": [S(X, Y)],
        "unravel_index": [S(Fixed([4, 1]), (3, 2))],
        "is_nonzero": [S(ONE)],
        "unsafe_chunk": [S(X, 2, 1)],
        "unsafe_split_with_sizes": [S(X, [1, 2], 1)],
        "select_scatter": [S(X, ROW, 0, 1)],
        "slice_scatter": [S(X, F(2, 2), 1, 1)],
        "diagonal_scatter": [S(SQUARE, V3), S(SQUARE, F(2), 1)],
        "as_strided_scatter": [S(X, F(2), (2,), (2,))],
        "embedding": [S(Fixed([[0, 2], [2, 1]]), F(4, 3)), S(Fixed([0, 2]), F(4, 3), padding_idx=1)],
        "embedding_bag": [
            S(Fixed([0, 2, 2, 1]), F(4, 3), Fixed([0, 2]), mode="sum"),
            S(Fixed([[0, 2], [1, 1]]), F(4, 3), mode="mean"),
            S(Fixed([[0, 2], [1, 1]]), F(4, 3), mode="max"),
            S(Fixed([[0, 2], [1, 1]]), F(4, 3), mode="sum", per_sample_weights=F(2, 2)),
        ],
    }
)  # fmt: skip

# ---------------------------------------------------------------------------------------------- products

_table(
    {
        "matmul": [
            S(X, F(3, 4)), S(V3, V3), S(X, V3), S(V3, SQUARE), S(BATCH, SQUARE), S(BATCH, F(2, 3, 1)), S(SQUARE, BATCH), S(F(2, 1, 2, 3), F(2, 3, 2)),
            S(F(0, 3), SQUARE),
        ],
        "mm": [S(X, F(3, 4))],
        "bmm": [S(BATCH, F(2, 3, 2))],
        "mv": [S(X, V3)],
        "dot": [S(V3, V3)],
        "vdot": [S(V3, V3), S(F(3, complex=True), F(3, complex=True))],
        "inner": [S(X, F(4, 3)), S(V3, V3)],
        "outer": [S(V3, F(2))],
        "addmm": [S(F(2, 4), X, F(3, 4)), S(V4, X, F(3, 4), beta=0.5, alpha=2.0)],
        "addmv": [S(F(2), X, V3), S(F(2), X, V3, beta=0.5, alpha=2.0)],
        "addr": [S(F(3, 2), V3, F(2))],
        "addbmm": [S(SQUARE, BATCH, BATCH)],
        "baddbmm": [S(BATCH, BATCH, BATCH), S(SQUARE, BATCH, BATCH, beta=0.5)],
        "linear": [S(V3, F(4, 3)), S(X, F(4, 3)), S(X, F(4, 3), V4), S(BATCH, F(4, 3), V4), S(V3, F(4, 3), V4), S(BATCH, F(4, 3))],
        "bilinear": [S(X, F(2, 4), F(2, 3, 4), F(2))],
        "einsum": [S("ij,jk->ik", X, F(3, 4)), S("bij,bjk", BATCH, BATCH), S("ii->i", SQUARE), S("i,j->ij", V3, V4)],
        "tensordot": [S(X, F(3, 4), 1), S(X, Y, 2)],
        "chain_matmul": [S(X, SQUARE, F(3, 2))],
        "multi_dot": [S([X, SQUARE, F(3, 2)])],
        "matrix_power": [S(SQUARE, 3), S(SQUARE, 0)],
        "cross": [S(X, Y, 1), S(SQUARE, SQUARE, dim=0)],
    }
)  # fmt: skip

# ---------------------------------------------------------------------------------------------- without a gradient

WITHOUT_GRADIENT = {
    # integer or boolean results
    *[
        "all",
        "any",
        "allclose",
        "argmax",
        "argmin",
        "argsort",
        "argwhere",
        "bincount",
        "bitwise_and",
        "bitwise_left_shift",
        "bitwise_not",
        "bitwise_not_",
        "bitwise_or",
        "bitwise_right_shift",
        "bitwise_xor",
        "bucketize",
        "count_nonzero",
        "eq",
        "equal",
        "floor_divide",
        "gcd",
        "ge",
        "gt",
        "hash_tensor",
        "heaviside",
        "histc",
        "histogram",
        "histogramdd",
        "isclose",
        "isfinite",
        "isinf",
        "isnan",
        "isneginf",
        "isposinf",
        "isreal",
        "lobpcg",
        "pca_lowrank",
        "svd_lowrank",
        "lcm",
        "le",
        "logical_and",
        "logical_not",
        "logical_not_",
        "logical_or",
        "logical_xor",
        "lt",
        "ne",
        "nonzero",
        "nonzero_static",
        "one_hot",
        "searchsorted",
        "signbit",
        "unique",
        "unique_consecutive",
        "isin",
        "bitwise_and_",
        "bitwise_or_",
        "bitwise_xor_",
        "logical_and_",
        "logical_or_",
        "logical_xor_",
    ],
    "native_norm",  # of sparse tensors, which a sample does not make
    # made from shapes and numbers
    *[
        "arange",
        "as_tensor",
        "asarray",
        "embedding_renorm_",
        "empty",
        "empty_like",
        "empty_permuted",
        "empty_strided",
        "eye",
        "frombuffer",
        "from_numpy",
        "full",
        "full_like",
        "linspace",
        "logspace",
        "ones",
        "ones_like",
        "range",
        "scalar_tensor",
        "tensor",
        "tril_indices",
        "triu_indices",
        "zeros",
        "zeros_like",
        "broadcast_shapes",
    ],
    # random
    *[
        "bernoulli",
        "binomial",
        "multinomial",
        "normal",
        "poisson",
        "rand",
        "rand_like",
        "randint",
        "randint_like",
        "randn",
        "randn_like",
        "randperm",
        "gumbel_softmax",
        "_standard_gamma",
        "_standard_gamma_grad",
        "_sample_dirichlet",
        "_dirichlet_grad",
    ],
    # facts about tensors
    *[
        "get_device",
        "is_complex",
        "is_conj",
        "is_floating_point",
        "is_inference",
        "is_neg",
        "is_nonzero",
        "is_same_size",
        "is_signed",
        "is_storage",
        "is_tensor",
        "numel",
        "result_type",
        "can_cast",
        "promote_types",
        "detach",
        "detach_copy",
        "slice_inverse",  # shows memory beyond its input: no other layout, batch or device has the same
    ],
    # writes into their first argument: the twins of operators that have samples, or without an operator of their own
    *[
        "as_strided_",
        "celu_",
        "elu_",
        "fill_",
        "fill_diagonal_",
        "hardtanh_",
        "index_put_",
        "leaky_relu_",
        "resize_as_",
        "rrelu_",
        "selu_",
        "threshold_",
        "zero_",
    ],
}


def function_of(name: str) -> Any:
    """The function that samples under `name` call, or None where it does not exist (yet)."""
    if name.startswith("Tensor."):
        return getattr(Tensor, name[7:], None)
    if name.startswith("linalg.") and name not in OPS:
        return getattr(getattr(ops, "linalg", None), name[7:], None)
    return OPS.get(name)


def samples_of(name: str) -> list[Sample]:
    """The samples of an operator: those of its record, else of the table, under any of its names."""
    f = function_of(name)
    record = getattr(f, "record", None)
    if record is not None and record.samples is not None:
        return list(record.samples())
    return SAMPLES.get(name, [])


def covered() -> Iterator[tuple[str, Sample]]:
    """(name, sample) of every sample of every operator that exists."""
    for name in SAMPLES:
        if function_of(name) is not None:
            for sample in samples_of(name):
                yield name, sample
