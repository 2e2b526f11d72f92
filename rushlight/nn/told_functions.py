"""How classes with `__torch_function__` are told of what torch writes in Python of `nn.functional`: options by keyword."""

from typing import Any

from rushlight.core.dispatch import torch_function

__all__ = ["ONLY_HERE", "note"]

# told with the options that were not given
ONLY_HERE = [
    "adaptive_avg_pool2d", "adaptive_avg_pool3d", "affine_grid", "batch_norm", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy", "ctc_loss", "dropout1d",
    "dropout2d", "dropout3d", "elu", "fold", "fractional_max_pool2d", "fractional_max_pool3d", "gaussian_nll_loss",
    "glu", "grid_sample", "group_norm", "gumbel_softmax", "hardsigmoid", "hardswish", "hardtanh",
    "hinge_embedding_loss", "huber_loss", "instance_norm", "interpolate", "kl_div", "l1_loss", "layer_norm",
    "leaky_relu", "local_response_norm", "log_softmax", "lp_pool1d", "lp_pool2d", "lp_pool3d",
    "margin_ranking_loss", "max_unpool1d", "max_unpool2d", "max_unpool3d", "mish", "mse_loss",
    "multi_head_attention_forward", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss",
    "nll_loss", "normalize", "pad", "poisson_nll_loss", "relu6", "silu", "smooth_l1_loss", "soft_margin_loss",
    "softmax", "softmin", "triplet_margin_loss", "triplet_margin_with_distance_loss", "unfold", "upsample",
]  # fmt: skip
# one function is torch's built-in of that name as well, which tells what was given
_ELSEWHERE_TOO = [
    "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "alpha_dropout", "celu", "dropout",
    "embedding", "embedding_bag", "feature_alpha_dropout", "max_pool1d", "max_pool2d", "max_pool3d", "relu",
    "rms_norm", "rrelu", "selu", "threshold",
]  # fmt: skip


def note(functions: dict[str, Any]) -> None:
    """Note on the functions how they tell their arguments."""
    for name in ONLY_HERE + _ELSEWHERE_TOO:
        functions[name].arguments_as_told = torch_function.by_keyword(functions[name], complete=name in ONLY_HERE)
