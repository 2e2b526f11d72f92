"""RegNet (Radosavovic et al., arXiv 2003.13678): stages whose widths follow a quantized straight line."""

import math
from collections import OrderedDict
from functools import partial

from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, weights_enum
from rushlight_vision.models._utils import _make_divisible
from rushlight_vision.ops.layers import Conv2dNormActivation, SqueezeExcitation

__all__ = [
    "RegNet",
    "RegNet_X_1_6GF_Weights",
    "RegNet_X_3_2GF_Weights",
    "RegNet_X_8GF_Weights",
    "RegNet_X_16GF_Weights",
    "RegNet_X_32GF_Weights",
    "RegNet_X_400MF_Weights",
    "RegNet_X_800MF_Weights",
    "RegNet_Y_1_6GF_Weights",
    "RegNet_Y_3_2GF_Weights",
    "RegNet_Y_8GF_Weights",
    "RegNet_Y_16GF_Weights",
    "RegNet_Y_32GF_Weights",
    "RegNet_Y_128GF_Weights",
    "RegNet_Y_400MF_Weights",
    "RegNet_Y_800MF_Weights",
    "regnet_x_1_6gf",
    "regnet_x_3_2gf",
    "regnet_x_8gf",
    "regnet_x_16gf",
    "regnet_x_32gf",
    "regnet_x_400mf",
    "regnet_x_800mf",
    "regnet_y_1_6gf",
    "regnet_y_3_2gf",
    "regnet_y_8gf",
    "regnet_y_16gf",
    "regnet_y_32gf",
    "regnet_y_128gf",
    "regnet_y_400mf",
    "regnet_y_800mf",
]


class SimpleStemIN(Conv2dNormActivation):
    """A 3x3 convolution of stride 2."""

    def __init__(self, width_in, width_out, norm_layer, activation_layer):
        super().__init__(width_in, width_out, 3, 2, norm_layer=norm_layer, activation_layer=activation_layer)


class BottleneckTransform(nn.Sequential):
    """a: 1x1, b: 3x3 in groups, se: squeeze-excitation if `se_ratio`, c: 1x1."""

    def __init__(
        self,
        width_in,
        width_out,
        stride,
        norm_layer,
        activation_layer,
        group_width,
        bottleneck_multiplier,
        se_ratio,
    ):
        width = round(width_out * bottleneck_multiplier)
        style = {"norm_layer": norm_layer, "activation_layer": activation_layer}
        layers = OrderedDict()
        layers["a"] = Conv2dNormActivation(width_in, width, kernel_size=1, **style)
        layers["b"] = Conv2dNormActivation(width, width, stride=stride, groups=width // group_width, **style)
        if se_ratio:
            layers["se"] = SqueezeExcitation(width, round(se_ratio * width_in), activation=activation_layer)
        last = {"norm_layer": norm_layer, "activation_layer": None}
        layers["c"] = Conv2dNormActivation(width, width_out, kernel_size=1, **last)
        super().__init__(layers)


class ResBottleneckBlock(nn.Module):
    """activation(shortcut(x) + bottleneck(x))."""

    def __init__(
        self,
        width_in,
        width_out,
        stride,
        norm_layer,
        activation_layer,
        group_width=1,
        bottleneck_multiplier=1.0,
        se_ratio=None,
    ):
        super().__init__()
        self.proj = None
        if width_in != width_out or stride != 1:
            style = {"norm_layer": norm_layer, "activation_layer": None}
            self.proj = Conv2dNormActivation(width_in, width_out, kernel_size=1, stride=stride, **style)
        self.f = BottleneckTransform(
            width_in, width_out, stride, norm_layer, activation_layer, group_width, bottleneck_multiplier, se_ratio
        )
        self.activation = activation_layer(inplace=True)

    def forward(self, x):
        shortcut = x if self.proj is None else self.proj(x)
        return self.activation(shortcut + self.f(x))


class AnyStage(nn.Sequential):
    """`depth` blocks, of which the first changes the width and has the stride."""

    def __init__(self, width_in, width_out, stride, depth, block_constructor, *block_arguments, stage_index=0):
        super().__init__()
        for i in range(depth):
            first = (width_in, width_out, stride) if i == 0 else (width_out, width_out, 1)
            self.add_module(f"block{stage_index}-{i}", block_constructor(*first, *block_arguments))


class BlockParams:
    """Depth, width, group width, bottleneck multiplier and stride of each stage."""

    def __init__(self, depths, widths, group_widths, bottleneck_multipliers, strides, se_ratio=None):
        self.depths = depths
        self.widths = widths
        self.group_widths = group_widths
        self.bottleneck_multipliers = bottleneck_multipliers
        self.strides = strides
        self.se_ratio = se_ratio

    @classmethod
    def from_init_params(cls, depth, w_0, w_a, w_m, group_width, bottleneck_multiplier=1.0, se_ratio=None, **kwargs):
        """The stages of `depth` blocks whose widths are w_0 w_m^k, rounded to 8, k such that they follow w_0 + w_a i."""
        if w_a < 0 or w_0 <= 0 or w_m <= 1 or w_0 % 8 != 0:
            raise ValueError("Invalid RegNet settings")
        exponents = (round(math.log((w_0 + w_a * i) / w_0) / math.log(w_m)) for i in range(depth))
        by_block = [round(w_0 * w_m**k / 8) * 8 for k in exponents]
        widths = sorted(set(by_block))
        count = len(widths)
        multipliers = [bottleneck_multiplier] * count
        inner = [int(width * bottleneck_multiplier) for width in widths]
        groups = [min(group_width, width) for width in inner]
        fitted = [_make_divisible(width, group) for width, group in zip(inner, groups)]
        return cls(
            depths=[by_block.count(width) for width in widths],
            widths=[int(width / bottleneck_multiplier) for width in fitted],
            group_widths=groups,
            bottleneck_multipliers=multipliers,
            strides=[2] * count,
            se_ratio=se_ratio,
        )

    def _get_expanded_params(self):
        return zip(self.widths, self.strides, self.depths, self.group_widths, self.bottleneck_multipliers)


class RegNet(nn.Module):
    """A network of the stages that `block_params` describes.

    Shape: (N, 3, H, W) -> (N, num_classes)
    """

    def __init__(
        self,
        block_params,
        num_classes=1000,
        stem_width=32,
        stem_type=None,
        block_type=None,
        norm_layer=None,
        activation=None,
    ):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        activation = activation or nn.ReLU
        block_type = block_type or ResBottleneckBlock
        self.stem = (stem_type or SimpleStemIN)(3, stem_width, norm_layer, activation)
        width = stem_width
        stages = OrderedDict()
        for i, (width_out, stride, depth, *groups) in enumerate(block_params._get_expanded_params(), start=1):
            arguments = (norm_layer, activation, *groups, block_params.se_ratio)
            stages[f"block{i}"] = AnyStage(width, width_out, stride, depth, block_type, *arguments, stage_index=i)
            width = width_out
        self.trunk_output = nn.Sequential(stages)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(width, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                fan_out = m.kernel_size[0] * m.kernel_size[1] * m.out_channels
                nn.init.normal_(m.weight, mean=0.0, std=math.sqrt(2.0 / fan_out))
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0.0, std=0.01)
                nn.init.zeros_(m.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.trunk_output(self.stem(x)))
        return self.fc(x.flatten(start_dim=1))


def _regnet(options, *line, se_ratio=None):
    params = BlockParams.from_init_params(*line, se_ratio=se_ratio, **options)
    options.setdefault("norm_layer", partial(nn.BatchNorm2d, eps=1e-05, momentum=0.1))
    return RegNet(params, **options)


RegNet_Y_400MF_Weights = weights_enum("RegNet_Y_400MF_Weights", __name__)
RegNet_Y_800MF_Weights = weights_enum("RegNet_Y_800MF_Weights", __name__)
RegNet_Y_1_6GF_Weights = weights_enum("RegNet_Y_1_6GF_Weights", __name__)
RegNet_Y_3_2GF_Weights = weights_enum("RegNet_Y_3_2GF_Weights", __name__)
RegNet_Y_8GF_Weights = weights_enum("RegNet_Y_8GF_Weights", __name__)
RegNet_Y_16GF_Weights = weights_enum("RegNet_Y_16GF_Weights", __name__)
RegNet_Y_32GF_Weights = weights_enum("RegNet_Y_32GF_Weights", __name__)
RegNet_Y_128GF_Weights = weights_enum("RegNet_Y_128GF_Weights", __name__)
RegNet_X_400MF_Weights = weights_enum("RegNet_X_400MF_Weights", __name__)
RegNet_X_800MF_Weights = weights_enum("RegNet_X_800MF_Weights", __name__)
RegNet_X_1_6GF_Weights = weights_enum("RegNet_X_1_6GF_Weights", __name__)
RegNet_X_3_2GF_Weights = weights_enum("RegNet_X_3_2GF_Weights", __name__)
RegNet_X_8GF_Weights = weights_enum("RegNet_X_8GF_Weights", __name__)
RegNet_X_16GF_Weights = weights_enum("RegNet_X_16GF_Weights", __name__)
RegNet_X_32GF_Weights = weights_enum("RegNet_X_32GF_Weights", __name__)


@builder(RegNet_Y_400MF_Weights)
def regnet_y_400mf(**kwargs):
    """RegNetY of 400 million multiplications."""
    return _regnet(kwargs, 16, 48, 27.89, 2.09, 8, se_ratio=0.25)


@builder(RegNet_Y_800MF_Weights)
def regnet_y_800mf(**kwargs):
    """RegNetY of 800 million multiplications."""
    return _regnet(kwargs, 14, 56, 38.84, 2.4, 16, se_ratio=0.25)


@builder(RegNet_Y_1_6GF_Weights)
def regnet_y_1_6gf(**kwargs):
    """RegNetY of 1.6 billion multiplications."""
    return _regnet(kwargs, 27, 48, 20.71, 2.65, 24, se_ratio=0.25)


@builder(RegNet_Y_3_2GF_Weights)
def regnet_y_3_2gf(**kwargs):
    """RegNetY of 3.2 billion multiplications."""
    return _regnet(kwargs, 21, 80, 42.63, 2.66, 24, se_ratio=0.25)


@builder(RegNet_Y_8GF_Weights)
def regnet_y_8gf(**kwargs):
    """RegNetY of 8 billion multiplications."""
    return _regnet(kwargs, 17, 192, 76.82, 2.19, 56, se_ratio=0.25)


@builder(RegNet_Y_16GF_Weights)
def regnet_y_16gf(**kwargs):
    """RegNetY of 16 billion multiplications."""
    return _regnet(kwargs, 18, 200, 106.23, 2.48, 112, se_ratio=0.25)


@builder(RegNet_Y_32GF_Weights)
def regnet_y_32gf(**kwargs):
    """RegNetY of 32 billion multiplications."""
    return _regnet(kwargs, 20, 232, 115.89, 2.53, 232, se_ratio=0.25)


@builder(RegNet_Y_128GF_Weights, pretrained=None)
def regnet_y_128gf(**kwargs):
    """RegNetY of 128 billion multiplications."""
    return _regnet(kwargs, 27, 456, 160.83, 2.52, 264, se_ratio=0.25)


@builder(RegNet_X_400MF_Weights)
def regnet_x_400mf(**kwargs):
    """RegNetX of 400 million multiplications."""
    return _regnet(kwargs, 22, 24, 24.48, 2.54, 16)


@builder(RegNet_X_800MF_Weights)
def regnet_x_800mf(**kwargs):
    """RegNetX of 800 million multiplications."""
    return _regnet(kwargs, 16, 56, 35.73, 2.28, 16)


@builder(RegNet_X_1_6GF_Weights)
def regnet_x_1_6gf(**kwargs):
    """RegNetX of 1.6 billion multiplications."""
    return _regnet(kwargs, 18, 80, 34.01, 2.25, 24)


@builder(RegNet_X_3_2GF_Weights)
def regnet_x_3_2gf(**kwargs):
    """RegNetX of 3.2 billion multiplications."""
    return _regnet(kwargs, 25, 88, 26.31, 2.25, 48)


@builder(RegNet_X_8GF_Weights)
def regnet_x_8gf(**kwargs):
    """RegNetX of 8 billion multiplications."""
    return _regnet(kwargs, 23, 80, 49.56, 2.88, 120)


@builder(RegNet_X_16GF_Weights)
def regnet_x_16gf(**kwargs):
    """RegNetX of 16 billion multiplications."""
    return _regnet(kwargs, 22, 216, 55.59, 2.1, 128)


@builder(RegNet_X_32GF_Weights)
def regnet_x_32gf(**kwargs):
    """RegNetX of 32 billion multiplications."""
    return _regnet(kwargs, 23, 320, 69.86, 2.0, 168)
