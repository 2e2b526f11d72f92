"""Activations. Those with an ``inplace`` argument write the result into the input if it is true."""

from __future__ import annotations

from .operators import ops

__all__ = [
    "celu",
    "celu_",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "gumbel_softmax",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
]

# Pointwise
sigmoid = ops.sigmoid
tanh = ops.tanh
logsigmoid = ops.logsigmoid
softsign = ops.softsign
softplus = ops.softplus
tanhshrink = ops.tanhshrink
hardshrink = ops.hardshrink
softshrink = ops.softshrink
gelu = ops.gelu
prelu = ops.prelu

# Pointwise, in place if wished
relu, relu_ = ops.relu, ops.relu_
relu6 = ops.relu6
silu = ops.silu
mish = ops.mish
hardsigmoid = ops.hardsigmoid
hardswish = ops.hardswish
selu, selu_ = ops.selu, ops.selu_
elu, elu_ = ops.elu, ops.elu_
celu, celu_ = ops.celu, ops.celu_
leaky_relu, leaky_relu_ = ops.leaky_relu, ops.leaky_relu_
rrelu, rrelu_ = ops.rrelu, ops.rrelu_
hardtanh, hardtanh_ = ops.hardtanh, ops.hardtanh_
threshold, threshold_ = ops.threshold, ops.threshold_

# Along a dimension
glu = ops.glu
softmax = ops.softmax
softmin = ops.softmin
log_softmax = ops.log_softmax
gumbel_softmax = ops.gumbel_softmax
