"""The functions that make detectors: torchvision's arguments, published weights of the whole or of the backbone."""

import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

from rushlight import nn
from rushlight_vision.models._api import WeightsEnum, choose_weights, positional_too, register_model, set_option
from rushlight_vision.models.detection._utils import overwrite_eps
from rushlight_vision.models.detection.backbone_utils import _validate_trainable_layers
from rushlight_vision.ops.layers import FrozenBatchNorm2d


class Start(NamedTuple):
    """How a backbone begins: its published weights or None, whether any weights are published ones, layers to train."""

    weights: WeightsEnum | None
    progress: bool
    is_trained: bool
    trainable_layers: int

    @property
    def norm_layer(self):
        """Batch norms that stay as the published weights have them, or such as learn."""
        return FrozenBatchNorm2d if self.is_trained else nn.BatchNorm2d


def builder(
    enum,
    backbone,
    *,
    layers,
    untrained=False,
    classes=91,
    older=True,
    pretrained: str | Callable[[Any], str] = "COCO_V1",
    keypoints=False,
):
    """Make a function (start, num_classes, **options) -> model into torchvision's, with weights; registers it.

    backbone: the member of the backbone's weights that True means, and that it starts from unless `untrained`.
    layers: (parts of the backbone, how many of them are trained when published weights are there). older: whether the
    published weights are from a time when frozen batch norms had no epsilon.
    """
    kind = type(backbone)

    def decorate(build):
        @functools.wraps(build)
        def model(
            *,
            weights=None,
            progress=True,
            num_classes=None,
            weights_backbone=None if untrained else backbone,
            trainable_backbone_layers=None,
            **options,
        ):
            weights = _chosen(build, enum, weights, options, pretrained, "weights", "pretrained")
            weights_backbone = _chosen(
                build, kind, weights_backbone, options, backbone.name, "weights_backbone", "pretrained_backbone"
            )
            if weights is not None:
                weights_backbone = None
                given = {} if num_classes is None else {"num_classes": num_classes}
                set_option(given, "num_classes", len(weights.meta["categories"]))
                num_classes = given["num_classes"]
                if keypoints:
                    set_option(options, "num_keypoints", len(weights.meta["keypoint_names"]))
            trained = weights is not None or weights_backbone is not None
            count = _validate_trainable_layers(trained, trainable_backbone_layers, *layers)
            start = Start(weights_backbone, progress, trained, count)
            made = build(start, classes if num_classes is None else num_classes, **options)
            if weights is not None:
                made.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
                if older and weights.name == "COCO_V1":
                    overwrite_eps(made, 0.0)
            return made

        made = positional_too(model)
        vars(made)["__signature__"] = _signature(enum, kind, None if untrained else backbone)
        return register_model()(made)

    return decorate


def _chosen(build, enum, given, options, legacy, name, older):
    if older in options and given is not None:
        given = None  # the older argument decides over a default
    options[name] = given
    return enum.verify(choose_weights(build.__name__, options, enum, legacy, name, older))


def _signature(enum, backbone_enum, backbone):
    only = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [
            inspect.Parameter("weights", only, default=None, annotation=enum | None),
            inspect.Parameter("progress", only, default=True, annotation=bool),
            inspect.Parameter("num_classes", only, default=None, annotation=int | None),
            inspect.Parameter("weights_backbone", only, default=backbone, annotation=backbone_enum | None),
            inspect.Parameter("trainable_backbone_layers", only, default=None, annotation=int | None),
            inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
        ]
    )


def ignore_size(options):
    """SSD's sizes are fixed: warns about one that is given."""
    if "size" in options:
        warnings.warn("The size of the model is already fixed; ignoring the parameter.", stacklevel=4)
