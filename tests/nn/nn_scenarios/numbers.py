"""Layers with inputs: results and gradients, in training and, where that differs, in evaluation.

An input is a letter and a shape: f normal numbers, p probabilities, l log-probabilities, s signs, v variances,
0-9 classes below that number. Floating inputs `f`, `p`, `l` that are not targets get gradients.
"""

import numpy as np

LAYERS = [
    ("Linear(3, 4)", "f 2 3"), ("Linear(3, 4, bias=False)", "f 2 5 3"), ("Bilinear(2, 3, 4)", "f 5 2", "f 5 3"),
    ("Conv1d(2, 3, 3)", "f 2 2 7"), ("Conv1d(2, 3, 3, padding='same', padding_mode='circular')", "f 2 2 7"),
    ("Conv2d(2, 3, 3)", "f 2 2 6 5"), ("Conv2d(4, 6, (3, 2), stride=2, padding=1, groups=2)", "f 2 4 6 5"),
    ("Conv2d(2, 3, 3, padding='same', dilation=2)", "f 2 2 6 5"), ("Conv2d(2, 3, 3, padding='valid')", "f 2 6 5"),
    ("Conv2d(2, 3, 3, padding=1, padding_mode='reflect')", "f 2 2 6 5"),
    ("Conv2d(2, 3, 3, padding=(2, 1), padding_mode='replicate', bias=False)", "f 2 2 6 5"),
    ("Conv3d(2, 2, 2, padding=1, stride=2)", "f 1 2 3 4 3"),
    ("ConvTranspose1d(2, 3, 3, stride=2, output_padding=1)", "f 2 2 5"),
    ("ConvTranspose2d(4, 2, 3, stride=2, padding=1, groups=2)", "f 2 4 3 4"),
    ("ConvTranspose3d(2, 1, 2)", "f 1 2 2 3 2"), ("MaxPool1d(2)", "f 2 2 7"), ("MaxPool2d(2)", "f 2 2 5 6"),
    ("MaxPool2d(3, 2, 1, ceil_mode=True)", "f 2 2 6 6"), ("MaxPool2d(2, return_indices=True)", "f 2 2 4 4"),
    ("MaxPool3d(2)", "f 1 2 4 4 4"), ("AvgPool1d(3, 2, 1)", "f 2 2 7"), ("AvgPool2d(2)", "f 2 2 5 6"),
    ("AvgPool2d(3, 2, 1, ceil_mode=True, count_include_pad=False)", "f 2 2 6 6"),
    ("AvgPool2d(2, divisor_override=3)", "f 2 2 4 4"), ("AvgPool3d(2)", "f 1 2 4 4 4"), ("LPPool1d(2, 3)", "f 2 2 7"),
    ("LPPool2d(2, 2)", "f 2 2 4 4"), ("AdaptiveAvgPool1d(3)", "f 2 2 7"),
    ("AdaptiveAvgPool2d((3, None))", "f 2 2 5 4"), ("AdaptiveAvgPool2d(1)", "f 2 2 5 4"),
    ("AdaptiveAvgPool3d(2)", "f 1 2 3 4 5"), ("AdaptiveMaxPool1d(3)", "f 2 2 7"),
    ("AdaptiveMaxPool2d((2, 3))", "f 2 2 5 4"), ("AdaptiveMaxPool3d(2)", "f 1 2 3 4 5"), ("BatchNorm1d(3)", "f 5 3"),
    ("BatchNorm1d(3, momentum=None)", "f 5 3 2"), ("BatchNorm2d(3, affine=False)", "f 2 3 2 2"),
    ("BatchNorm2d(3, track_running_stats=False)", "f 2 3 2 2"), ("BatchNorm3d(2)", "f 2 2 2 2 2"),
    ("InstanceNorm1d(3)", "f 2 3 5"), ("InstanceNorm1d(3)", "f 3 5"), ("InstanceNorm2d(3, affine=True)", "f 2 3 2 3"),
    ("InstanceNorm2d(3, track_running_stats=True)", "f 2 3 2 3"), ("LayerNorm(4)", "f 3 4"),
    ("LayerNorm([3, 4], bias=False)", "f 2 3 4"), ("LayerNorm(4, elementwise_affine=False)", "f 3 4"),
    ("GroupNorm(2, 4)", "f 2 4 3"), ("RMSNorm(4)", "f 3 4"), ("RMSNorm(4, eps=0.1)", "f 3 4"),
    ("LocalResponseNorm(3)", "f 2 5 3 2"), ("Dropout(0.4)", "f 5 8"), ("Dropout1d(0.4)", "f 5 8 2"),
    ("Dropout2d(0.4)", "f 5 4 2 2"), ("Dropout3d(0.4)", "f 2 4 2 2 2"), ("AlphaDropout(0.4)", "f 5 8"),
    ("FeatureAlphaDropout(0.4)", "f 5 8 2"), ("Embedding(5, 3)", "5 2 4"), ("Embedding(5, 3, padding_idx=2)", "5 2 4"),
    ("Embedding(5, 3, max_norm=1.0)", "5 2 4"), ("Embedding(5, 3, scale_grad_by_freq=True)", "5 2 4"),
    ("EmbeddingBag(5, 3)", "5 2 4"), ("EmbeddingBag(5, 3, mode='sum', padding_idx=1)", "5 2 4"),
    ("EmbeddingBag(5, 3, mode='max')", "5 2 4"), ("Flatten()", "f 2 3 4"), ("Unflatten(1, (2, 3))", "f 2 6"),
    ("ReLU()", "f 5 8"), ("ReLU6()", "f 5 8"), ("LeakyReLU(0.2)", "f 5 8"), ("PReLU()", "f 5 8"),
    ("PReLU(3)", "f 2 3 4"), ("ELU(0.5)", "f 5 8"), ("SELU()", "f 5 8"), ("CELU(0.5)", "f 5 8"), ("GELU()", "f 5 8"),
    ("GELU('tanh')", "f 5 8"), ("SiLU()", "f 5 8"), ("Mish()", "f 5 8"), ("Sigmoid()", "f 5 8"), ("Tanh()", "f 5 8"),
    ("Softplus(2, 1)", "f 5 8"), ("Softsign()", "f 5 8"), ("Softmax(1)", "f 5 8"), ("LogSoftmax(0)", "f 5 8"),
    ("Softmin(1)", "f 5 8"), ("Softmax2d()", "f 3 2 2"), ("Hardtanh(-0.5, 0.7)", "f 5 8"), ("Hardsigmoid()", "f 5 8"),
    ("Hardswish()", "f 5 8"), ("Hardshrink()", "f 5 8"), ("Softshrink()", "f 5 8"), ("Tanhshrink()", "f 5 8"),
    ("Threshold(0.1, 20)", "f 5 8"), ("LogSigmoid()", "f 5 8"), ("GLU()", "f 5 8"), ("RReLU()", "f 5 8"),
    ("CosineSimilarity()", "f 5 8", "f 5 8"), ("PairwiseDistance()", "f 5 8", "f 5 8"),
    ("PixelShuffle(2)", "f 2 4 3 2"), ("PixelUnshuffle(2)", "f 2 1 4 6"), ("ChannelShuffle(2)", "f 1 4 2 2"),
    ("Upsample(scale_factor=2)", "f 1 2 3 2"), ("Upsample(size=(5, 4), mode='bilinear')", "f 1 2 3 2"),
    ("UpsamplingBilinear2d(scale_factor=2)", "f 1 2 3 2"), ("Upsample(scale_factor=2, mode='linear')", "f 1 2 3"),
    ("Unfold(2, padding=1)", "f 1 2 3 3"), ("Fold((4, 5), 2)", "f 2 8 12"),
    ("ConstantPad2d((1, 2, 0, 1), 3.5)", "f 1 2 3 3"), ("ZeroPad2d(1)", "f 1 2 3 3"),
    ("ReflectionPad2d((1, 2, 0, 1))", "f 1 2 3 3"), ("ReplicationPad1d(2)", "f 1 2 3"),
    ("CircularPad1d((1, 2))", "f 1 2 3"),
    ("ReLU(inplace=True)", "f 5 8"), ("ReLU6(inplace=True)", "f 5 8"), ("LeakyReLU(0.2, inplace=True)", "f 5 8"),
    ("ELU(0.5, inplace=True)", "f 5 8"), ("SELU(inplace=True)", "f 5 8"), ("CELU(0.5, inplace=True)", "f 5 8"),
    ("SiLU(inplace=True)", "f 5 8"), ("Mish(inplace=True)", "f 5 8"), ("Hardswish(inplace=True)", "f 5 8"),
    ("Hardsigmoid(inplace=True)", "f 5 8"), ("Hardtanh(-0.5, 0.7, inplace=True)", "f 5 8"),
    ("Threshold(0.1, 20, inplace=True)", "f 5 8"), ("RReLU(inplace=True)", "f 5 8"),
    ("Dropout(0.4, inplace=True)", "f 5 8"), ("Dropout1d(0.4, inplace=True)", "f 5 8"),
    ("Dropout2d(0.4, inplace=True)", "f 2 4 2 2"),
]  # fmt: skip

LOSSES = [
    ("CrossEntropyLoss(%s)", "f 4 5", "5 4"),
    ("CrossEntropyLoss(label_smoothing=0.2, ignore_index=1, %s)", "f 4 5", "5 4"),
    ("CrossEntropyLoss(%s)", "f 4 5 2", "5 4 2"), ("CrossEntropyLoss(%s)", "f 4 5", "p 4 5"),
    ("NLLLoss(%s)", "l 4 5", "5 4"), ("MSELoss(%s)", "f 4 5", "f 4 5"), ("L1Loss(%s)", "f 4 5", "f 4 5"),
    ("SmoothL1Loss(beta=0.5, %s)", "f 4 5", "f 4 5"), ("HuberLoss(delta=0.5, %s)", "f 4 5", "f 4 5"),
    ("BCELoss(%s)", "p 4 5", "p 4 5"), ("BCEWithLogitsLoss(%s)", "f 4 5", "p 4 5"),
    ("KLDivLoss(%s)", "l 4 5", "p 4 5"), ("KLDivLoss(log_target=True, %s)", "l 4 5", "l 4 5"),
    ("CosineEmbeddingLoss(%s)", "f 4 5", "f 4 5", "s 4"), ("MarginRankingLoss(0.5, %s)", "f 4", "f 4", "s 4"),
    ("TripletMarginLoss(%s)", "f 4 5", "f 4 5", "f 4 5"),
    ("TripletMarginWithDistanceLoss(swap=True, %s)", "f 4 5", "f 4 5", "f 4 5"),
    ("HingeEmbeddingLoss(%s)", "f 4 5", "s 4 5"), ("SoftMarginLoss(%s)", "f 4 5", "s 4 5"),
    ("MultiMarginLoss(%s)", "f 4 5", "5 4"), ("MultiLabelMarginLoss(%s)", "f 4 5", "5 4 5"),
    ("MultiLabelSoftMarginLoss(%s)", "f 4 5", "p 4 5"), ("PoissonNLLLoss(full=True, %s)", "f 4 5", "v 4 5"),
    ("GaussianNLLLoss(full=True, %s)", "f 4 5", "f 4 5", "v 4 5"),
]  # fmt: skip

STOCHASTIC = ("Dropout", "AlphaDropout", "FeatureAlphaDropout", "RReLU", "BatchNorm", "InstanceNorm")


def cases():
    """(name, source, inputs, training) of every case; a name is a key of the recorded answers."""
    for source, *inputs in LAYERS:
        yield f"{source} {inputs}", source, inputs, True
        if source.startswith(STOCHASTIC):
            yield f"{source} {inputs} eval", source, inputs, False
    for source, *inputs in LOSSES:
        for reduction in ("mean", "sum", "none"):
            full = source.replace("%s", f"reduction={reduction!r}")
            yield f"{full} {inputs}", full, inputs, True


def draw(rng, kind, shape):
    if kind.isdigit():
        return rng.integers(0, int(kind), shape)
    x = rng.standard_normal(shape).astype(np.float32)
    if kind == "s":
        return np.where(x > 0, 1, -1).astype(np.float32)
    if kind == "v":
        return np.abs(x) + np.float32(0.1)
    if kind in "pl":
        e = np.exp(x)
        x = (e / e.sum(1, keepdims=True)).astype(np.float32)
    return np.log(x) if kind == "l" else x


def run(T, source, inputs, training):
    """Results and gradients of one case as arrays, in a fixed order."""
    rng = np.random.default_rng(sum(map(ord, source)))
    tensors = []
    for position, text in enumerate(inputs):
        kind, *shape = text.split()
        tensor = T.from_numpy(draw(rng, kind, tuple(map(int, shape))))
        is_target = "Loss" in source and position > 0 and "f" not in kind
        tensors.append(tensor.requires_grad_(tensor.is_floating_point() and not is_target))
    T.manual_seed(4)
    layer = eval("nn." + source, {"nn": T.nn}).train(training)
    written = "inplace=True" in source  # a leaf that wants a gradient must not be written to
    out = layer(*(t * 1 if written else t for t in tensors))
    outs = list(out) if isinstance(out, tuple) else [out]
    if outs[0].requires_grad:
        weights = T.from_numpy(rng.standard_normal(tuple(outs[0].shape)).astype(np.float32))
        (outs[0] * weights).sum().backward()
    grads = [t.grad for t in (*tensors, *layer.parameters()) if t.requires_grad]
    arrays = [*outs, *grads, *layer.buffers()]
    return [t.detach().numpy() for t in arrays if t is not None]
