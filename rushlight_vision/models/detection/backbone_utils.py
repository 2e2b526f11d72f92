"""Classifiers as backbones of detectors: feature pyramids on ResNet and MobileNet, their first layers frozen."""

import warnings

from rushlight import nn
from rushlight_vision.models import mobilenet, resnet
from rushlight_vision.models._api import choose_weights, get_model_weights, positional_too
from rushlight_vision.models._utils import IntermediateLayerGetter
from rushlight_vision.models.segmentation._utils import stage_indices
from rushlight_vision.ops.feature_pyramid_network import FeaturePyramidNetwork, LastLevelMaxPool
from rushlight_vision.ops.layers import FrozenBatchNorm2d

__all__ = ["BackboneWithFPN", "mobilenet_backbone", "resnet_fpn_backbone"]

_OUT_CHANNELS = 256  # of every pyramid


class BackboneWithFPN(nn.Module):
    """A classifier's layers up to the last that `return_layers` names, and a feature pyramid on what those give.

    Shape: (N, 3, H, W) -> {name: (N, out_channels, H_i, W_i)}, with what `extra_blocks` adds ('pool' by default)
    """

    def __init__(self, backbone, return_layers, in_channels_list, out_channels, extra_blocks=None, norm_layer=None):
        super().__init__()
        self.body = IntermediateLayerGetter(backbone, return_layers=return_layers)
        self.fpn = FeaturePyramidNetwork(
            in_channels_list, out_channels, extra_blocks=extra_blocks or LastLevelMaxPool(), norm_layer=norm_layer
        )
        self.out_channels = out_channels

    def forward(self, x):
        return self.fpn(self.body(x))


@positional_too
def resnet_fpn_backbone(
    *,
    backbone_name,
    weights=None,
    norm_layer=FrozenBatchNorm2d,
    trainable_layers=3,
    returned_layers=None,
    extra_blocks=None,
    **options,
):
    """A ResNet by its name with a feature pyramid of 256 channels.

    trainable_layers: how many of its five parts, from the last, are trained. returned_layers: which of its stages 1-4
    the pyramid has; all by default.
    """
    weights = _weights(backbone_name, weights, options)
    backbone = getattr(resnet, backbone_name)(weights=weights, norm_layer=norm_layer)
    return _resnet_fpn_extractor(backbone, trainable_layers, returned_layers, extra_blocks)


@positional_too
def mobilenet_backbone(
    *,
    backbone_name,
    weights=None,
    fpn,
    norm_layer=FrozenBatchNorm2d,
    trainable_layers=2,
    returned_layers=None,
    extra_blocks=None,
    **options,
):
    """A MobileNet by its name, with a feature pyramid of 256 channels (`fpn`) or one map of as many channels."""
    weights = _weights(backbone_name, weights, options)
    backbone = getattr(mobilenet, backbone_name)(weights=weights, norm_layer=norm_layer)
    return _mobilenet_extractor(backbone, fpn, trainable_layers, returned_layers, extra_blocks)


def _weights(name, weights, options):
    options["weights"] = weights
    weights = choose_weights(name, options, get_model_weights(name), "IMAGENET1K_V1")
    if options:
        raise TypeError(f"unexpected keyword arguments: {', '.join(options)}")
    return weights


def _resnet_fpn_extractor(backbone, trainable_layers, returned_layers=None, extra_blocks=None, norm_layer=None):
    if not 0 <= trainable_layers <= 5:
        raise ValueError(f"Trainable layers should be in the range [0,5], got {trainable_layers}")
    trained = ["layer4", "layer3", "layer2", "layer1", "conv1"][:trainable_layers] + ["bn1"] * (trainable_layers == 5)
    for name, parameter in backbone.named_parameters():
        if not name.startswith(tuple(trained)):
            parameter.requires_grad_(False)
    returned = [1, 2, 3, 4] if returned_layers is None else returned_layers
    if min(returned) <= 0 or max(returned) >= 5:
        raise ValueError(f"Each returned layer should be in the range [1,4]. Got {returned}")
    layers = {f"layer{k}": str(v) for v, k in enumerate(returned)}
    channels = [backbone.inplanes // 8 * 2 ** (k - 1) for k in returned]
    return BackboneWithFPN(backbone, layers, channels, _OUT_CHANNELS, extra_blocks, norm_layer)


def freeze_stages(features, stages, trainable_layers):
    """Freezes all but the last `trainable_layers` of the parts that begin at `stages`."""
    if not 0 <= trainable_layers <= len(stages):
        raise ValueError(f"Trainable layers should be in the range [0,{len(stages)}], got {trainable_layers} ")
    end = len(features) if trainable_layers == 0 else stages[len(stages) - trainable_layers]
    for block in features[:end]:
        for parameter in block.parameters():
            parameter.requires_grad_(False)


def _mobilenet_extractor(backbone, fpn, trainable_layers, returned_layers=None, extra_blocks=None, norm_layer=None):
    features = backbone.features
    stages = stage_indices(features)
    freeze_stages(features, stages, trainable_layers)
    if not fpn:
        narrowed = nn.Sequential(features, nn.Conv2d(features[-1].out_channels, _OUT_CHANNELS, 1))
        narrowed.out_channels = _OUT_CHANNELS
        return narrowed
    count = len(stages)
    returned = [count - 2, count - 1] if returned_layers is None else returned_layers
    if min(returned) < 0 or max(returned) >= count:
        raise ValueError(f"Each returned layer should be in the range [0,{count - 1}], got {returned} ")
    layers = {f"{stages[k]}": str(v) for v, k in enumerate(returned)}
    channels = [features[stages[i]].out_channels for i in returned]
    return BackboneWithFPN(features, layers, channels, _OUT_CHANNELS, extra_blocks, norm_layer)


def _validate_trainable_layers(is_trained, trainable_backbone_layers, max_value, default_value):
    """How many parts of a backbone to train: all of one without published weights."""
    if not is_trained:
        if trainable_backbone_layers is not None:
            warnings.warn(
                "Changing trainable_backbone_layers has no effect if neither pretrained nor pretrained_backbone have "
                f"been set to True, falling back to trainable_backbone_layers={max_value} so that all layers are "
                "trainable",
                stacklevel=2,
            )
        return max_value
    chosen = default_value if trainable_backbone_layers is None else trainable_backbone_layers
    if not 0 <= chosen <= max_value:
        raise ValueError(f"Trainable backbone layers should be in the range [0,{max_value}], got {chosen} ")
    return chosen
