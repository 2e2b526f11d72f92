"""Sample inputs of activations, layers, losses and linear algebra, by table."""

from __future__ import annotations

from ..core.tensor import dtype as dtypes
from .descriptions import Definite, F, Fixed, S, Sample
from .shapes import BATCH, HALF, IMAGE, LINE, MAP3, ONE, POSITIVE, ROW, SQUARE, V3, V4, X, Y, Z

SAMPLES: dict[str, list[Sample]] = {}


def _table(rows: dict[str, list[Sample]]) -> None:
    SAMPLES.update(rows)


# ---------------------------------------------------------------------------------------------- activations

for _name in [
    "gelu",
    "hardsigmoid",
    "hardswish",
    "mish",
    "relu6",
    "selu",
    "silu",
    "softsign",
    "tanhshrink",
    "logsigmoid",
    "hardtanh",
    "celu",
    "elu",
    "softshrink",
    "hardshrink",
]:
    SAMPLES[_name] = [S(X), S(ONE), S(F(0, 3))]
for _name in ["softmax", "log_softmax", "softmin", "special.softmax", "special.log_softmax"]:
    SAMPLES[_name] = [S(X, 1), S(BATCH, 0), S(ONE, 0)]
_table(
    {
        "glu": [S(F(2, 4)), S(F(2, 3), 0)],
        "leaky_relu": [S(X), S(X, 0.2)],
        "prelu": [S(X, F(1)), S(X, ROW)],
        "rrelu": [S(X)],
        "softplus": [S(X), S(X, 2.0, 1.0)],
        "threshold": [S(X, 0.3, -0.2)],
        "dropout": [S(X, 0.5, False)],
        "alpha_dropout": [S(X, 0.5, False)],
        "feature_dropout": [S(IMAGE, 0.5, False)],
        "feature_alpha_dropout": [S(IMAGE, 0.5, False)],
    }
)
SAMPLES["gelu"] = [*SAMPLES["gelu"], S(X, approximate="tanh")]

# ---------------------------------------------------------------------------------------------- layers

_WEIGHT = F(2, 2, 3, 3)
_table(
    {
        "conv1d": [S(LINE, F(3, 2, 3), F(3)), S(LINE, F(2, 1, 2), None, 2, 1, 1, 2)],
        "conv2d": [S(IMAGE, _WEIGHT), S(IMAGE, _WEIGHT, F(2), 2, 1), S(IMAGE, F(2, 1, 2, 2), None, 1, 0, 2, 2)],
        "conv3d": [S(MAP3, F(2, 2, 2, 2, 2), F(2))],
        "conv_tbc": [S(F(5, 2, 2), F(3, 2, 2), F(2), 1)],
        "conv_transpose1d": [S(LINE, F(2, 3, 3), F(3), 2, 1, 1)],
        "conv_transpose2d": [S(IMAGE, _WEIGHT, F(2)), S(IMAGE, F(2, 1, 2, 2), None, 2, 0, 0, 2)],
        "conv_transpose3d": [S(MAP3, F(2, 1, 2, 2, 2))],
        "avg_pool1d": [S(LINE, 2), S(LINE, 3, 2, 1)],
        "avg_pool2d": [S(IMAGE, 2), S(IMAGE, 3, 2, 1, count_include_pad=False)],
        "avg_pool3d": [S(MAP3, 2)],
        "max_pool1d": [S(LINE, 2), S(LINE, 3, 2, 1)],
        "max_pool1d_with_indices": [S(LINE, 2)],
        "max_pool2d": [S(IMAGE, 2), S(IMAGE, 3, 2, 1), S(IMAGE, 2, 1, 0, 2), S(IMAGE, 2, return_indices=True)],
        "max_pool3d": [S(MAP3, 2)],
        "max_unpool1d": [S(F(1, 1, 2), Fixed([[[0, 3]]]), 2)],
        "max_unpool2d": [S(F(1, 1, 2, 2), Fixed([[[[0, 3], [8, 10]]]]), 2)],
        "max_unpool3d": [S(F(1, 1, 1, 1, 2), Fixed([[[[[0, 3]]]]]), 2)],
        "adaptive_avg_pool1d": [S(LINE, 2), S(LINE, 4)],
        "adaptive_avg_pool2d": [S(IMAGE, 2), S(IMAGE, (3, 1))],
        "adaptive_avg_pool3d": [S(MAP3, 2)],
        "adaptive_max_pool1d": [S(LINE, 2)],
        "adaptive_max_pool2d": [S(IMAGE, (3, 2))],
        "adaptive_max_pool3d": [S(MAP3, 2)],
        "fractional_max_pool2d": [S(F(1, 2, 5, 5), 2, output_size=2, _random_samples=Fixed([[[0.3, 0.6], [0.1, 0.8]]], dtypes.float64))],
        "fractional_max_pool3d": [S(F(1, 1, 4, 4, 4), 2, output_size=2, _random_samples=Fixed([[[0.3, 0.6, 0.2]]], dtypes.float64))],
        "lp_pool1d": [S(F(2, 2, 6, low=0.2), 2, 2)],
        "lp_pool2d": [S(F(2, 2, 4, 4, low=0.2), 2, 2)],
        "lp_pool3d": [S(F(1, 2, 3, 4, 3, low=0.2), 2, 2)],
        "pixel_shuffle": [S(F(1, 4, 2, 2), 2)],
        "pixel_unshuffle": [S(F(1, 1, 4, 4), 2)],
        "channel_shuffle": [S(F(1, 4, 2, 2), 2)],
        "interpolate": [
            S(IMAGE, 3), S(IMAGE, scale_factor=2.0), S(IMAGE, 6, mode="bilinear", align_corners=False),
            S(IMAGE, 6, mode="bicubic", align_corners=True), S(LINE, 4, mode="linear"), S(IMAGE, 2, mode="area"),
            S(MAP3, 2, mode="trilinear"), S(LINE, 4), S(MAP3, 2), S(LINE, 4, mode="nearest-exact"), S(IMAGE, 3, mode="nearest-exact"),
            S(MAP3, 2, mode="nearest-exact"), S(IMAGE, 3, mode="bilinear", align_corners=False, antialias=True),
            S(IMAGE, 3, mode="bicubic", align_corners=False, antialias=True),
            S(IMAGE, 3, mode="lanczos", align_corners=False, antialias=True),
        ],
        "grid_sample": [
            S(IMAGE, F(2, 3, 3, 2, low=-0.93, high=0.93), align_corners=False),
            S(IMAGE, F(2, 3, 3, 2, low=-1.3, high=1.3), "bilinear", "border", True),
            S(IMAGE, F(2, 2, 2, 2, low=-0.93, high=0.93), "bicubic", "reflection", False),
            S(MAP3, F(1, 2, 2, 2, 3, low=-0.93, high=0.93), align_corners=False),
        ],
        "affine_grid": [S(F(2, 2, 3), (2, 1, 3, 2), False), S(F(1, 3, 4), (1, 1, 2, 2, 2), True)],
        "affine_grid_generator": [S(F(2, 2, 3), (2, 1, 3, 2), False), S(F(1, 3, 4), (1, 1, 2, 2, 2), True)],
        "fold": [S(F(1, 8, 4), (3, 3), 2)],
        "unfold": [S(F(1, 2, 3, 3), 2)],
        "batch_norm": [
            S(F(4, 3), ROW, V3, None, None, True, 0.1, 1e-5, True),
            S(IMAGE, F(2), F(2), Fixed([0.1, 0.2], dtypes.float64), Fixed([1.1, 0.7], dtypes.float64), False, 0.1, 1e-5, True),
            S(IMAGE, None, None, None, None, True, 0.1, 1e-5, True),
        ],
        "instance_norm": [S(IMAGE, None, None, None, None, True, 0.1, 1e-5, True), S(IMAGE, F(2), F(2), None, None, True, 0.1, 1e-5, True)],
        "group_norm": [S(F(2, 4, 3), 2, V4, V4), S(F(2, 4, 3), 2)],
        "layer_norm": [S(X, (3,), ROW, V3), S(BATCH, (3, 3))],
        "native_layer_norm": [S(X, (3,), ROW, V3, 1e-3), S(BATCH, (3, 3), None, None, 1e-3)],
        "native_group_norm": [S(F(2, 4, 3), V4, V4, 2, 4, 3, 2, 1e-3), S(F(2, 4, 3), None, None, 2, 4, 3, 1, 1e-3)],
        "native_batch_norm": [S(F(4, 3), ROW, V3, None, None, True, 0.1, 1e-3)],
        "_native_batch_norm_legit_no_training": [S(F(4, 3), ROW, V3, Fixed([0.1, 0.2, 0.3]), Fixed([1.0, 2.0, 0.5]), 0.1, 1e-3)],
        "native_dropout": [S(X, 0.5, False)],
        "rms_norm": [S(X, (3,), ROW), S(X, (3,))],
        "local_response_norm": [S(F(2, 3, 3), 2)],
        "normalize": [S(X), S(X, 3.0, 0)],
        "scaled_dot_product_attention": [S(BATCH, BATCH, BATCH), S(BATCH, BATCH, BATCH, is_causal=True)],
    }
)  # fmt: skip
for _name, _target in (("grid_sampler_2d", IMAGE), ("grid_sampler_3d", MAP3)):
    _grid = F(2, 3, 3, 2, low=-0.93, high=0.93) if _target is IMAGE else F(1, 2, 2, 2, 3, low=-0.93, high=0.93)
    SAMPLES[_name] = [S(_target, _grid, 0, 0, False), S(_target, _grid, 1, 1, True)]
SAMPLES["grid_sampler"] = [*SAMPLES["grid_sampler_2d"][:1], *SAMPLES["grid_sampler_3d"][1:]]

# ---------------------------------------------------------------------------------------------- losses

_CLASSES = Fixed([2, 0])
for _name in ["l1_loss", "mse_loss", "huber_loss", "smooth_l1_loss"]:
    SAMPLES[_name] = [S(X, Y), S(X, Y, reduction="none"), S(X, Y, reduction="sum")]
_table(
    {
        "nll_loss": [S(X, _CLASSES), S(X, _CLASSES, Fixed([0.5, 1.0, 2.0], dtypes.float64), reduction="sum"), S(F(1, 2, 2, 2), Fixed([[[0, 1], [1, 1]]]))],
        "cross_entropy": [
            S(X, _CLASSES), S(X, _CLASSES, label_smoothing=0.1, reduction="sum"), S(X, HALF), S(F(2, 3, 2), Fixed([[0, 1], [2, -100]])),
        ],
        "binary_cross_entropy": [S(HALF, F(2, 3, low=0.1, high=0.9)), S(HALF, Fixed([[0.0, 1, 1], [1, 0, 0]]), reduction="sum")],
        "binary_cross_entropy_with_logits": [S(X, HALF), S(X, HALF, pos_weight=Fixed([0.5, 1.0, 2.0], dtypes.float64))],
        "kl_div": [S(X, HALF), S(X, Y, log_target=True, reduction="mean")],
        "poisson_nll_loss": [S(X, Fixed([[1.0, 2, 0], [3, 1, 1]])), S(POSITIVE, Fixed([[1.0, 2, 0], [3, 1, 1]]), log_input=False)],
        "gaussian_nll_loss": [S(X, Y, POSITIVE), S(X, Y, POSITIVE, full=True)],
        "soft_margin_loss": [S(X, Fixed([[1.0, -1, 1], [-1, 1, 1]])), S(X, Fixed([[1.0, -1, 1], [-1, 1, 1]]), reduction="none")],
        "hinge_embedding_loss": [S(X, Fixed([[1.0, -1, 1], [-1, 1, 1]]))],
        "margin_ranking_loss": [S(V3, V3, Fixed([1.0, -1, 1]), 0.1)],
        "multi_margin_loss": [S(X, _CLASSES), S(X, _CLASSES, 2)],
        "multilabel_margin_loss": [S(X, Fixed([[2, 0, -1], [1, -1, 0]]))],
        "multilabel_soft_margin_loss": [S(X, Fixed([[1.0, 0, 1], [0, 1, 1]]))],
        "cosine_embedding_loss": [S(X, Y, Fixed([1, -1]))],
        "cosine_similarity": [S(X, Y), S(BATCH, BATCH, 0)],
        "scaled_dot_product_attention": [S(F(2, 3, 4), F(2, 5, 4), F(2, 5, 2)), S(F(3, 4), F(3, 4), F(3, 2), is_causal=True)],
        "pairwise_distance": [S(X, Y), S(X, Y, 1.0, keepdim=True)],
        "triplet_margin_loss": [S(X, Y, Z), S(X, Y, Z, swap=True)],
        "ctc_loss": [S(F(4, 2, 3), Fixed([[1, 2], [2, 2]]), Fixed([4, 4]), Fixed([2, 1]))],
        "gumbel_softmax": [],
    }
)  # fmt: skip

# ---------------------------------------------------------------------------------------------- linear algebra

for _name in [
    "linalg.det",
    "linalg.slogdet",
    "linalg.inv",
    "linalg.svdvals",
    "linalg.matrix_exp",
    "linalg.pinv",
    "det",
    "slogdet",
    "logdet",
    "inverse",
]:
    SAMPLES[_name] = [S(F(3, 3, low=0.1, high=2.0))]
_table(
    {
        "linalg.vector_norm": [S(X), S(X, 3, 1)],
        "linalg.norm": [S(X), S(V3, 1)],
        "linalg.matrix_norm": [S(X), S(X, 1)],
        "linalg.solve": [S(SQUARE, F(3, 2)), S(SQUARE, V3)],
        "linalg.multi_dot": [S([X, SQUARE, F(3, 2)])],
        "linalg.matrix_power": [S(SQUARE, 2)],
        "linalg.cross": [S(X, Y)],
        "linalg.vecdot": [S(X, Y)],
        "linalg.matmul": [S(X, SQUARE)],
        "linalg.diagonal": [S(SQUARE)],
    }
)

_REGULAR = F(3, 3, low=0.1, high=2.0)
_SAMPLE_PAIRS = {
    "qr": [S(_REGULAR)],
    "svd": [S(F(3, 2), False)],
    "cholesky": [S(Definite(3))],
    "cholesky_ex": [S(Definite(3))],
    "eigh": [S(Definite(3))],
    "eigvalsh": [S(Definite(3))],
    "eig": [],  # the phase of its vectors is open: eigvals is tested instead
    "eigvals": [S(_REGULAR)],
    "householder_product": [S(F(4, 2), F(2))],
    "lu": [S(_REGULAR)],
    "lu_factor": [S(_REGULAR)],
    "lu_factor_ex": [S(_REGULAR)],
    "inv_ex": [S(_REGULAR)],
    "solve_ex": [S(_REGULAR, F(3, 2))],
    "solve_triangular": [S(_REGULAR, F(3, 2), upper=True)],
    "tensorinv": [S(F(2, 3, 6), 2)],
    "tensorsolve": [S(F(2, 3, 6), F(2, 3))],
    "vander": [S(V3)],
    "cond": [S(_REGULAR)],
    "lstsq": [S(F(3, 2), F(3, 2))],
}
SAMPLES.update({f"linalg.{k}": v for k, v in _SAMPLE_PAIRS.items()})
_table(
    {
        "qr": [S(_REGULAR)],
        "svd": [S(F(3, 2))],
        "pinverse": [S(X)],
        "cholesky": [S(Definite(3))],
        "lu": [S(_REGULAR)],
        "lu_unpack": [S(_REGULAR, Fixed([1, 2, 3], dtypes.int32))],
        "lu_solve": [S(F(3, 2), _REGULAR, Fixed([1, 2, 3], dtypes.int32))],
        "orgqr": [S(F(4, 2), F(2))],
        "ormqr": [S(F(3, 2), F(2), F(3, 2))],
        "matrix_exp": [S(_REGULAR)],
        "nuclear_norm": [S(X)],
        "frobenius_norm": [S(X, 1)],
        "triangular_solve": [S(F(3, 2), _REGULAR)],
        "cholesky_solve": [S(F(3, 2), _REGULAR)],
        "cholesky_inverse": [S(_REGULAR)],
    }
)
