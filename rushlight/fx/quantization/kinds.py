"""What quantization knows of each operator: how its input and its result are observed, and what takes its place."""

from __future__ import annotations

import operator
from typing import Any

from ... import ops
from ...nn import functional as F
from ...nn import modules as nn
from ...nn.quantization import intrinsic as nni
from ...nn.quantization import qat
from ...nn.quantization import qat_fused as nniqat
from ...nn.quantization.qconfig_mapping import FIXED
from ...ops import core_forms
from ..node import Node

__all__ = ["BINARY", "DYNAMIC", "EMBEDDINGS", "FUNCTIONS", "INFO", "RELUS", "SHARED", "WEIGHTED", "kind_of", "own_kind"]

_BY_DIMENSION = [
    getattr(module, name.format(n))
    for n in (1, 2, 3)
    for module, name in (
        (nn, "Conv{}d"), (nn, "ConvTranspose{}d"), (nni, "ConvReLU{}d"), (nniqat, "ConvBn{}d"), (nniqat, "ConvBnReLU{}d"), (nni, "ConvBn{}d"), (nni, "ConvBnReLU{}d"),
    )
]  # fmt: skip
WEIGHTED = {
    *_BY_DIMENSION, nn.Linear, nni.LinearReLU, qat.Linear, qat.Conv1d, qat.Conv2d, qat.Conv3d, nniqat.ConvReLU2d,
    nniqat.ConvReLU3d, nniqat.LinearReLU, nniqat.LinearBn1d,
}  # fmt: skip
DYNAMIC = {nn.LSTM, nn.GRU, nn.LSTMCell, nn.GRUCell, nn.RNNCell}
EMBEDDINGS = {nn.Embedding, nn.EmbeddingBag}
BINARY = {operator.add: "add", ops.add: "add", operator.mul: "mul", ops.mul: "mul", ops.matmul: "matmul"}
RELUS = {nn.ReLU, F.relu, core_forms.relu}
FUNCTIONS: dict[Any, str] = {
    F.elu: "elu", F.hardswish: "hardswish", F.leaky_relu: "leaky_relu", F.layer_norm: "layer_norm",
    F.instance_norm: "instance_norm",
}  # fmt: skip
"""Functions with another scale for the result than for the input, by the names of the operators of levels."""
_OWN_SCALE = {
    nn.ELU, nn.LeakyReLU, nn.Hardswish, nn.InstanceNorm1d, nn.InstanceNorm2d, nn.InstanceNorm3d, nn.Dropout, nn.PReLU,
    nn.LayerNorm, nn.BatchNorm2d, nn.BatchNorm3d, nni.BNReLU2d, nni.BNReLU3d, F.dropout, *FUNCTIONS,
}  # fmt: skip
SHARED = {
    ops.cat, nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d,
    nn.Hardtanh, nn.Identity, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.PixelShuffle, nn.PixelUnshuffle, nn.ReLU, nn.ReLU6,
    F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d, F.hardtanh, F.interpolate, F.max_pool1d,
    F.max_pool2d, F.max_pool3d, F.pixel_shuffle, F.pixel_unshuffle, F.relu, F.relu6, F.avg_pool1d, F.avg_pool2d,
    F.avg_pool3d, ops.clamp, ops.flatten, ops.mean, ops.narrow, ops.repeat_interleave, ops.transpose, ops.squeeze, ops.stack,
    ops.unsqueeze, operator.floordiv, core_forms.relu, "contiguous", "clamp", "detach", "detach_", "mean", "permute", "repeat",
    "repeat_interleave", "reshape", "resize_", "relu", "relu_", "squeeze", "squeeze_", "transpose", "unsqueeze", "unsqueeze_",
    "view",
}  # fmt: skip
"""Whose result has the input's scale."""
_WITH_FUNCTIONAL_WEIGHT = {
    F.linear, F.conv1d, F.conv2d, F.conv3d, F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d,
}  # fmt: skip
INFO = {"size", "shape", "dim"}


def own_kind(node: Node, modules: dict[str, Any]) -> Any:
    """The class of the module that a node calls, the function, or the method's name; None of other nodes."""
    if node.op == "call_module":
        return type(modules[node.target])
    if node.op == "call_function":
        return node.args[1] if node.target is getattr and node.args[1] in INFO else node.target
    return node.target if node.op == "call_method" else None


def kind_of(kind: Any) -> str | None:
    """How a call of this class, function or method is quantized: None where it is not."""
    if kind in _WITH_FUNCTIONAL_WEIGHT:
        return "functional"
    for kinds, word in (
        (WEIGHTED, "weighted"), (DYNAMIC, "dynamic"), (EMBEDDINGS, "embedding"), (BINARY, "binary"), (FIXED, "fixed"),
        (_OWN_SCALE, "own"), (SHARED, "shared"), (INFO, "info"),
    ):  # fmt: skip
        if kind in kinds:
            return word
    return None
