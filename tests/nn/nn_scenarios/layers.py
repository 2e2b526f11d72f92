"""Every layer: printed form, state, parameters after a seed, refusals; the losses' older arguments."""

from .answers import attempt, plain, warned

LAYERS = [
    "Identity(1, b=2)", "Linear(3, 4)", "Linear(3, 4, bias=False)", "Bilinear(2, 3, 4)",
    "Bilinear(2, 3, 4, bias=False)", "Conv1d(4, 6, 3)", "Conv2d(4, 6, (3, 5), stride=2, padding=1)",
    "Conv2d(4, 6, 3, padding='same', dilation=2)", "Conv2d(4, 6, 3, padding='valid')",
    "Conv2d(4, 6, 3, groups=2, bias=False, padding_mode='reflect')", "Conv3d(4, 2, 3, padding=(1, 2, 3))",
    "ConvTranspose1d(4, 6, 3, output_padding=1, stride=2)",
    "ConvTranspose2d(4, 6, 3, stride=(2, 1), padding=1, groups=2)", "ConvTranspose3d(2, 2, 2, bias=False)",
    "MaxPool1d(2)", "MaxPool2d(2, 1, 1)", "MaxPool2d((2, 3), ceil_mode=True)", "MaxPool3d(2)", "AvgPool1d(2)",
    "AvgPool1d(3, stride=2)", "AvgPool2d(2, padding=1)", "AvgPool3d(2)", "LPPool1d(2, 3)", "LPPool2d(2, 3, stride=2)",
    "LPPool3d(2, 3)", "AdaptiveAvgPool1d(3)", "AdaptiveAvgPool2d((3, None))", "AdaptiveAvgPool3d(3)",
    "AdaptiveMaxPool1d(3)", "AdaptiveMaxPool2d((3, None))", "AdaptiveMaxPool3d(3)", "MaxUnpool1d(2)",
    "MaxUnpool2d(2, 1, 1)", "MaxUnpool3d(2)", "BatchNorm1d(4)", "BatchNorm2d(4, momentum=None, affine=False)",
    "BatchNorm3d(4, track_running_stats=False)", "InstanceNorm1d(4)", "InstanceNorm2d(4, affine=True)",
    "InstanceNorm3d(4, track_running_stats=True)", "LayerNorm(4)", "LayerNorm([4, 5], elementwise_affine=False)",
    "LayerNorm(4, bias=False)", "GroupNorm(2, 4)", "GroupNorm(2, 4, affine=False)", "RMSNorm(4)",
    "RMSNorm(4, eps=1e-6)", "LocalResponseNorm(2)", "Dropout()", "Dropout(0.2, inplace=True)", "Dropout1d(0.3)",
    "Dropout2d(0.3)", "Dropout3d(0.3)", "AlphaDropout(0.2)", "FeatureAlphaDropout(0.2)", "Embedding(3, 4)",
    "Embedding(3, 4, padding_idx=-1)", "Embedding(3, 4, max_norm=1.0, norm_type=1.0, scale_grad_by_freq=True)",
    "EmbeddingBag(3, 4)", "EmbeddingBag(3, 4, mode='max', padding_idx=1)",
    "EmbeddingBag(3, 4, max_norm=1.0, norm_type=1.0)", "Flatten()", "Flatten(0, 2)", "Unflatten(1, (2, 3))", "ReLU()",
    "ReLU(inplace=True)", "ReLU6()", "ReLU6(True)", "LeakyReLU()", "LeakyReLU(0.2, True)", "PReLU()", "PReLU(3)",
    "ELU()", "ELU(0.5, inplace=True)", "SELU()", "SELU(True)", "CELU(0.5)", "GELU()", "GELU('tanh')", "SiLU()",
    "Mish(True)", "Sigmoid()", "Tanh()", "Softplus()", "Softplus(2, 10)", "Softsign()", "Softmax()", "Softmax(dim=1)",
    "LogSoftmax(dim=-1)", "Softmin(dim=1)", "Softmax2d()", "Hardtanh()", "Hardtanh(-2, 2, True)", "Hardsigmoid(True)",
    "Hardswish()", "Hardshrink()", "Softshrink(0.3)", "Tanhshrink()", "Threshold(0.1, 20)",
    "Threshold(0.1, 20, True)", "LogSigmoid()", "GLU()", "GLU(1)", "RReLU()", "RReLU(0.1, 0.2, True)",
    "CrossEntropyLoss()", "CrossEntropyLoss(reduction='sum', label_smoothing=0.1)", "NLLLoss()", "MSELoss()",
    "L1Loss()", "SmoothL1Loss(beta=0.5)", "HuberLoss(delta=0.5)", "BCELoss()", "BCEWithLogitsLoss()", "KLDivLoss()",
    "CosineEmbeddingLoss()", "MarginRankingLoss()", "TripletMarginLoss()", "TripletMarginWithDistanceLoss()",
    "HingeEmbeddingLoss()", "SoftMarginLoss()", "MultiMarginLoss()", "MultiLabelMarginLoss()",
    "MultiLabelSoftMarginLoss()", "PoissonNLLLoss()", "GaussianNLLLoss()", "CTCLoss()", "CosineSimilarity()",
    "PairwiseDistance()", "PixelShuffle(2)", "PixelUnshuffle(2)", "ChannelShuffle(2)", "Upsample(scale_factor=2)",
    "Upsample(size=(3, 4), mode='bilinear')", "Upsample(scale_factor=(2, 3))", "UpsamplingNearest2d(scale_factor=2)",
    "UpsamplingBilinear2d(size=3)", "Fold(4, 2)", "Unfold(2, padding=1)", "ConstantPad1d(2, 3.5)",
    "ConstantPad2d((1, 2, 3, 4), 0)", "ConstantPad3d(1, 0)", "ReflectionPad1d(2)", "ReflectionPad2d((1, 2, 3, 4))",
    "ReflectionPad3d(1)", "ReplicationPad1d(2)", "ReplicationPad2d(1)", "ReplicationPad3d(1)", "ZeroPad1d(2)",
    "ZeroPad2d((1, 2, 3, 4))", "ZeroPad3d(1)", "CircularPad1d(1)", "CircularPad2d(1)",
    "CircularPad3d((1, 2, 3, 4, 5, 6))",
]  # fmt: skip


def layers(T):
    """Printed form, state keys with shapes, and parameters after a seed, bit for bit."""
    log = []
    for source in LAYERS:
        T.manual_seed(11)
        m = eval("nn." + source, {"nn": T.nn})
        log.append([source, repr(m), [[k, list(v.shape), str(v.dtype)] for k, v in m.state_dict().items()]])
        log.append([p.detach().double().flatten()[:40].tolist() for p in m.parameters()])
    return plain(log)


LAYER_ERRORS = [
    "Conv2d(3, 4, 3, groups=0)", "Conv2d(3, 4, 3, groups=2)", "Conv2d(4, 3, 3, groups=2)",
    "Conv2d(3, 4, 3, 2, 'same')", "ConvTranspose2d(3, 4, 3, padding_mode='reflect')", "Bilinear(0, 2, 3)",
    "Dropout(1.5)", "Dropout(-0.1)", "GroupNorm(3, 4)", "Embedding(3, 4, padding_idx=3)",
    "Embedding(3, 4, padding_idx=-4)", "EmbeddingBag(3, 4, padding_idx=3)", "Unflatten(1, 3)",
    "Unflatten(1, (2, 'a'))", "Hardtanh(1, 1)", "MultiMarginLoss(p=3)", "TripletMarginLoss(margin=0)",
    "TripletMarginWithDistanceLoss(margin=-1)", "HuberLoss(delta='a')",
]  # fmt: skip


def layer_errors(T):
    return [attempt(lambda source=source: eval("nn." + source, {"nn": T.nn})) for source in LAYER_ERRORS]


def losses(T):
    """torch's older arguments, and its warnings about sizes."""
    nn = T.nn
    x, y = T.tensor([[1.0, 2.0], [3.0, 5.0]]), T.tensor([[1.5, 1.0], [3.0, 4.0]])
    log = []
    for options in ({"reduce": False}, {"size_average": False}, {"size_average": True}, {"reduce": True}):
        log.append(warned(lambda options=options: nn.MSELoss(**options)(x, y)))
        log.append(warned(lambda options=options: nn.functional.l1_loss(x, y, **options)))
    log.append(warned(lambda: nn.functional.mse_loss(x, y[0])))
    log.append(warned(lambda: nn.functional.kl_div(x, y)))
    log.append(warned(lambda: nn.functional.kl_div(x, y, reduction="batchmean")))
    log.append(attempt(lambda: nn.functional.mse_loss(x, y, reduction="what")))
    log.append(attempt(lambda: nn.functional.binary_cross_entropy(x, y[0])))
    log.append(attempt(lambda: nn.functional.binary_cross_entropy_with_logits(x, y[0])))
    log.append(attempt(lambda: nn.functional.dropout(x, 2.0)))
    log.append(warned(lambda: nn.functional.softmax(x)))
    log.append(attempt(lambda: nn.BatchNorm1d(2)(x[:1])))
    log.append(attempt(lambda: nn.BatchNorm2d(2)(x)))
    log.append(attempt(lambda: nn.InstanceNorm2d(2)(x)))
    log.append(attempt(lambda: nn.Softmax2d()(x)))
    return log


FACTORIES = [
    "Linear(2, 3, {})", "Bilinear(2, 2, 2, {})", "Conv2d(2, 2, 2, {})", "ConvTranspose1d(2, 2, 2, {})",
    "BatchNorm2d(2, {})", "InstanceNorm1d(2, affine=True, {})", "LayerNorm(2, {})", "GroupNorm(2, 2, {})",
    "RMSNorm(2, {})", "Embedding(2, 3, {})", "EmbeddingBag(2, 3, {})", "PReLU({})",
]  # fmt: skip


def factories(T):
    """Layers take a dtype and a device, and follow the default dtype."""

    def kinds(source):
        m = eval("nn." + source, {"nn": T.nn, "T": T})
        return [[k, str(v.dtype), str(v.device)] for k, v in m.state_dict().items()]

    log = [kinds(source.format("dtype=T.float64, device='cpu'")) for source in FACTORIES]
    T.set_default_dtype(T.float64)
    try:
        log += [kinds(source.format("")) for source in FACTORIES]
    finally:
        T.set_default_dtype(T.float32)
    return log


def embeddings(T):
    nn = T.nn
    weight = T.tensor([[3.0, 4.0], [0.3, 0.4], [1.0, 1.0]])
    frozen = nn.Embedding.from_pretrained(weight)
    free = nn.Embedding.from_pretrained(weight.clone(), freeze=False, padding_idx=1, max_norm=1.0)
    log = [repr(frozen), frozen.weight.requires_grad, frozen.weight.data_ptr() == weight.data_ptr()]
    log += [repr(free), free(T.tensor([0, 1, 0])), free.weight]
    free(T.tensor([0, 1, 0])).sum().backward()
    log += [free.weight.grad, attempt(lambda: nn.Embedding.from_pretrained(weight[0]))]
    log.append(attempt(lambda: nn.Embedding(3, 2, _weight=weight.t())))
    padded = nn.Embedding(3, 2, padding_idx=-1)
    log.append([padded.padding_idx, padded.weight[2]])
    ids, offsets = T.tensor([0, 1, 2, 0]), T.tensor([0, 3])
    for options in ({}, {"mode": "sum"}, {"mode": "max"}, {"mode": "sum", "padding_idx": 0}):
        bag = nn.EmbeddingBag.from_pretrained(weight, freeze=False, **options)
        out = bag(ids, offsets)
        (out * T.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
        log.append([repr(bag), out, bag.weight.grad])
    last = nn.EmbeddingBag.from_pretrained(weight, include_last_offset=True)
    log.append(last(ids, T.tensor([0, 3, 4])))
    weighted = nn.EmbeddingBag.from_pretrained(weight, mode="sum")
    log.append(weighted(ids, offsets, T.tensor([1.0, 0.5, 2.0, -1.0])))
    log.append(attempt(lambda: last(ids)))
    log.append(attempt(lambda: last(T.tensor([[0, 1]]), offsets)).split(" However")[0])
    return plain(log)


SCENARIOS = {f.__name__: f for f in (layers, layer_errors, factories, embeddings, losses)}
