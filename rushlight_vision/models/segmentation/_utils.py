"""What the segmentation models share: a backbone, a head or two, and the way back to the image's size."""

import functools
import inspect
from collections import OrderedDict
from typing import Any

from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.models._api import choose_weights, register_model


class _SimpleSegmentationModel(nn.Module):
    """Scores of each class at each pixel.

    Shape: (N, 3, H, W) -> {'out': (N, num_classes, H, W)}, with an auxiliary head also 'aux'
    """

    def __init__(self, backbone, classifier, aux_classifier=None):
        super().__init__()
        self.backbone = backbone
        self.classifier = classifier
        self.aux_classifier = aux_classifier

    def forward(self, x):
        features = self.backbone(x)
        heads = {"out": self.classifier, "aux": self.aux_classifier}
        result = OrderedDict()
        for name, head in heads.items():
            if head is not None:
                scores = head(features[name])
                result[name] = F.interpolate(scores, size=x.shape[-2:], mode="bilinear", align_corners=False)
        return result


def stage_indices(features):
    """Of a MobileNetV3's features, where the size changes, with the first and the last: (indices)."""
    return [0, *(i for i, block in enumerate(features) if getattr(block, "_is_cn", False)), len(features) - 1]


def builder(enum, backbone_enum):
    """Make a function (weights_backbone, num_classes, aux_loss, **options) -> model into one that takes `weights` too.

    Registered as `models._api.builder` does it. The published weights have 21 classes and, but for LRASPP, an
    auxiliary head. Without them the backbone starts from its own published weights, unless weights_backbone=None.
    """

    def decorate(build):
        @functools.wraps(build)
        def model(
            *,
            weights=None,
            progress=True,
            num_classes=None,
            aux_loss=None,
            weights_backbone: Any = "default",
            **options,
        ):
            weights = enum.verify(_chosen(build, weights, options, enum, "weights", "pretrained"))
            if weights_backbone == "default":
                older = "pretrained_backbone" in options
                weights_backbone = None if older else backbone_enum.IMAGENET1K_V1
            weights_backbone = backbone_enum.verify(
                _chosen(build, weights_backbone, options, backbone_enum, "weights_backbone", "pretrained_backbone")
            )
            if weights is not None:
                weights_backbone = None
                num_classes = _expected("num_classes", num_classes, len(weights.meta["categories"]))
                if "lraspp" not in build.__name__:
                    aux_loss = _expected("aux_loss", aux_loss, True)
            made = build(weights_backbone, 21 if num_classes is None else num_classes, aux_loss, **options)
            if weights is not None:
                made.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
            return made

        kind = inspect.Parameter.KEYWORD_ONLY
        vars(model)["__signature__"] = inspect.Signature(
            [
                inspect.Parameter("weights", kind, default=None, annotation=enum | None),
                inspect.Parameter("progress", kind, default=True),
                inspect.Parameter("num_classes", kind, default=None),
                inspect.Parameter("aux_loss", kind, default=None),
                inspect.Parameter("weights_backbone", kind, default=backbone_enum.IMAGENET1K_V1),
                inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
            ]
        )
        return register_model()(model)

    return decorate


def _chosen(build, given, options, enum, name, older):
    options[name] = given
    legacy = next(iter(enum)).name
    return choose_weights(build.__name__, options, enum, legacy, name, older)


def _expected(name, given, value):
    if given is not None and given != value:
        raise ValueError(f"The parameter '{name}' expected value {value} but got {given} instead.")
    return value
