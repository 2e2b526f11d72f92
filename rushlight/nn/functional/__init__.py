"""Functions of networks, under torch's names: those of `torch.nn.functional`.

These are the operators that are declared with functional=True, and the functions of the files here, whose arguments
differ from the operators'. No list repeats their names.
"""

from rushlight.core.dispatch.extension_points import function_tables as _function_tables
from rushlight.core.dispatch.op import FUNCTIONAL as _FUNCTIONAL
from rushlight.core.dispatch.op import OPS as _OPS
from rushlight.core.dispatch.torch_function import by_keyword as _by_keyword
from rushlight.core.dispatch.torch_function import publish as _publish

from . import (
    attention,
    classification_loss,
    dropping,
    grouped,
    normalization,
    pooling,
    probabilities,
    regression_loss,
    resize,
    similarity_loss,
)  # fmt: skip

_functions = {name: _OPS[name] for name in _FUNCTIONAL}
for _file in (
    attention, classification_loss, dropping, grouped, normalization, pooling, probabilities,
    regression_loss, resize, similarity_loss,
):  # fmt: skip
    _functions |= {
        name: value
        for name, value in vars(_file).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == _file.__name__
    }
globals().update(_functions)
__all__ = sorted(_functions)  # pyright: ignore[reportUnsupportedDunderAll]
# What torch writes in Python, which tells classes with __torch_function__ its options by keyword, also those not given.
_TOLD_WHOLE = [
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
# The same, but here one function is torch's built-in of that name as well, which tells what was given.
_TOLD_BY_KEYWORD = [
    "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "alpha_dropout", "celu", "dropout",
    "embedding", "embedding_bag", "feature_alpha_dropout", "max_pool1d", "max_pool2d", "max_pool3d", "relu",
    "rms_norm", "rrelu", "selu", "threshold",
]  # fmt: skip
for _name in _TOLD_WHOLE + _TOLD_BY_KEYWORD:
    _functions[_name].arguments_as_told = _by_keyword(_functions[_name], _name in _TOLD_WHOLE)

_publish(globals())
_function_tables.register(globals())
