"""How classes with `__torch_function__` are told of what torch writes in Python of `nn.functional`: options by keyword."""

from typing import Any

from rushlight.core.dispatch import torch_function

__all__ = ["BUILT_IN", "WRITTEN_IN_PYTHON", "note"]

WRITTEN_IN_PYTHON = frozenset((
    "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d",
    "affine_grid", "alpha_dropout", "batch_norm", "binary_cross_entropy", "binary_cross_entropy_with_logits", "celu",
    "cosine_embedding_loss", "cross_entropy", "ctc_loss", "dropout", "dropout1d", "dropout2d", "dropout3d", "elu",
    "embedding", "embedding_bag", "feature_alpha_dropout", "fold", "fractional_max_pool2d", "fractional_max_pool3d",
    "gaussian_nll_loss", "glu", "grid_sample", "group_norm", "gumbel_softmax", "hardsigmoid", "hardswish", "hardtanh",
    "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm",
    "leaky_relu", "local_response_norm", "log_softmax", "lp_pool1d", "lp_pool2d", "lp_pool3d", "margin_ranking_loss",
    "max_pool1d", "max_pool2d", "max_pool3d", "max_unpool1d", "max_unpool2d", "max_unpool3d", "mish", "mse_loss",
    "multi_head_attention_forward", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss",
    "nll_loss", "normalize", "pad", "poisson_nll_loss", "relu", "relu6", "rms_norm", "rrelu", "selu", "silu",
    "smooth_l1_loss", "soft_margin_loss", "softmax", "softmin", "threshold", "triplet_margin_loss",
    "triplet_margin_with_distance_loss", "unfold", "upsample",
))  # fmt: skip
"""Functions that tell all of their options, also those not given. torch's built-in functions of the names max_pool1d to
max_pool3d and rms_norm are the same objects here, and tell as these do."""

BUILT_IN = {
    **{name: name for name in (
        "avg_pool2d", "avg_pool3d", "elu_", "gelu", "hardtanh_", "leaky_relu_", "linear", "one_hot",
        "scaled_dot_product_attention", "softplus", "softshrink",
    )},
    "logsigmoid": "log_sigmoid",
}  # fmt: skip
"""Functions that torch keeps in `torch._C._nn`, and their names there. They tell what was given."""


def note(functions: dict[str, Any]) -> None:
    """Note on the functions how they tell their arguments."""
    for name in WRITTEN_IN_PYTHON:
        torch_function.told_by_keyword(functions[name])
