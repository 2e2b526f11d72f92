"""torchmetrics: values of metrics that were fed two batches."""

import fixed
import torch
import torchmetrics
from torchmetrics import functional as F

CLASSES = 4
scores = [fixed.numbers(20, CLASSES, phase=i).softmax(1) for i in range(2)]
classes = [fixed.whole_numbers(20, below=CLASSES, phase=5 * i) for i in range(2)]
chances = [torch.sigmoid(fixed.numbers(30, phase=i)) for i in range(2)]
truths = [fixed.whole_numbers(30, below=2, phase=3 * i) for i in range(2)]
values = [fixed.numbers(30, phase=2 * i) for i in range(2)]
targets = [fixed.numbers(30, phase=2 * i + 0.3) for i in range(2)]
images = [(fixed.numbers(2, 3, 24, 24, phase=i) + 1) / 2 for i in range(2)]
copies = [(fixed.numbers(2, 3, 24, 24, phase=i + 0.2) + 1) / 2 for i in range(2)]
MANY = {"task": "multiclass", "num_classes": CLASSES}
PAIRS = {
    "classes": (scores, classes),
    "chances": (chances, truths),
    "values": (values, targets),
    "images": (images, copies),
}
METRICS = {
    "Accuracy": ("classes", MANY),
    "Precision": ("classes", {**MANY, "average": "macro"}),
    "Recall": ("classes", {**MANY, "average": "macro"}),
    "F1Score": ("classes", {**MANY, "average": "weighted"}),
    "FBetaScore": ("classes", {**MANY, "beta": 0.5}),
    "Specificity": ("classes", MANY),
    "ConfusionMatrix": ("classes", MANY),
    "CohenKappa": ("classes", MANY),
    "MatthewsCorrCoef": ("classes", MANY),
    "JaccardIndex": ("classes", MANY),
    "HammingDistance": ("classes", MANY),
    "AUROC": ("classes", MANY),
    "AveragePrecision": ("classes", MANY),
    "ROC": ("chances", {"task": "binary", "thresholds": 5}),
    "PrecisionRecallCurve": ("chances", {"task": "binary"}),
    "CalibrationError": ("chances", {"task": "binary"}),
    "HingeLoss": ("chances", {"task": "binary"}),
    "StatScores": ("chances", {"task": "binary"}),
    "MeanSquaredError": ("values", {}),
    "MeanAbsoluteError": ("values", {}),
    "R2Score": ("values", {}),
    "ExplainedVariance": ("values", {}),
    "PearsonCorrCoef": ("values", {}),
    "SpearmanCorrCoef": ("values", {}),
    "KendallRankCorrCoef": ("values", {}),
    "ConcordanceCorrCoef": ("values", {}),
    "CosineSimilarity": ("images", {}),
    "SymmetricMeanAbsolutePercentageError": ("values", {}),
    "StructuralSimilarityIndexMeasure": ("images", {"data_range": 1.0}),
    "PeakSignalNoiseRatio": ("images", {"data_range": 1.0}),
    "TotalVariation": ("images", {}),
    "UniversalImageQualityIndex": ("images", {}),
    "SignalNoiseRatio": ("values", {}),
    "ScaleInvariantSignalDistortionRatio": ("values", {}),
    "MeanMetric": ("values", {}),
    "RunningMean": ("values", {"window": 3}),
}


def metric(name):
    kind, options = METRICS[name]
    kinds = (
        vars(torchmetrics)
        if name in vars(torchmetrics)
        else {n: getattr(m, n) for m in (torchmetrics.image, torchmetrics.audio) for n in m.__all__}
    )
    made = kinds[name](**options)
    batches = list(zip(*PAIRS[kind], strict=True))
    if name in ("CosineSimilarity",):
        batches = [(a.flatten(1), b.flatten(1)) for a, b in batches]
    single = name in ("MeanMetric", "RunningMean", "TotalVariation")
    steps = [made(batch[0]) if single else made(*batch) for batch in batches]
    return [_flat(steps), _flat(made.compute())]


def _flat(value):
    if isinstance(value, torch.Tensor):
        return value.double().flatten().tolist()
    return [number for part in value for number in _flat(part)]


def collection():
    """A collection that shares its states, its running copy, and its file."""
    together = torchmetrics.MetricCollection(
        [torchmetrics.Accuracy(**MANY), torchmetrics.Precision(**MANY), torchmetrics.Recall(**MANY)]
    )
    clone = together.clone(prefix="val_")
    for a, b in zip(scores, classes, strict=True):
        together.update(a, b)
        clone.update(a, b)
    return {**{k: v.item() for k, v in together.compute().items()}, **{k: v.item() for k, v in clone.compute().items()}}


def differentiable():
    """The gradient of a metric that is differentiable."""
    x = images[0].clone().requires_grad_()
    F.structural_similarity_index_measure(x, copies[0], data_range=1.0).backward()
    return x.grad.abs().sum().item()


fixed.main(
    {
        **{name: (lambda name=name: metric(name)) for name in METRICS},
        "collection": collection,
        "differentiable": differentiable,
    }
)
