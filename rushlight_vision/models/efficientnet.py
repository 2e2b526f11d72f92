"""EfficientNet (Tan and Le, arXiv 1905.11946) and EfficientNetV2 (2104.00298)."""

import copy
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, weights_enum
from rushlight_vision.models._utils import _make_divisible
from rushlight_vision.ops.layers import Conv2dNormActivation, SqueezeExcitation
from rushlight_vision.ops.stochastic_depth import StochasticDepth

__all__ = [
    "EfficientNet",
    "EfficientNet_B0_Weights",
    "EfficientNet_B1_Weights",
    "EfficientNet_B2_Weights",
    "EfficientNet_B3_Weights",
    "EfficientNet_B4_Weights",
    "EfficientNet_B5_Weights",
    "EfficientNet_B6_Weights",
    "EfficientNet_B7_Weights",
    "EfficientNet_V2_L_Weights",
    "EfficientNet_V2_M_Weights",
    "EfficientNet_V2_S_Weights",
    "efficientnet_b0",
    "efficientnet_b1",
    "efficientnet_b2",
    "efficientnet_b3",
    "efficientnet_b4",
    "efficientnet_b5",
    "efficientnet_b6",
    "efficientnet_b7",
    "efficientnet_v2_l",
    "efficientnet_v2_m",
    "efficientnet_v2_s",
]


@dataclass
class _MBConvConfig:
    """One stage: `num_layers` blocks, of which the first changes the channels and has the stride."""

    expand_ratio: float
    kernel: int
    stride: int
    input_channels: int
    out_channels: int
    num_layers: int
    block: Callable

    @staticmethod
    def adjust_channels(channels, width_mult, min_value=None):
        return _make_divisible(channels * width_mult, 8, min_value)


class MBConvConfig(_MBConvConfig):
    """A stage of MBConv blocks, its channels and depth scaled."""

    def __init__(
        self,
        expand_ratio,
        kernel,
        stride,
        input_channels,
        out_channels,
        num_layers,
        width_mult=1.0,
        depth_mult=1.0,
        block=None,
    ):
        super().__init__(
            expand_ratio,
            kernel,
            stride,
            self.adjust_channels(input_channels, width_mult),
            self.adjust_channels(out_channels, width_mult),
            self.adjust_depth(num_layers, depth_mult),
            block or MBConv,
        )

    @staticmethod
    def adjust_depth(num_layers, depth_mult):
        return math.ceil(num_layers * depth_mult)


class FusedMBConvConfig(_MBConvConfig):
    """A stage of FusedMBConv blocks."""

    def __init__(self, expand_ratio, kernel, stride, input_channels, out_channels, num_layers, block=None):
        super().__init__(expand_ratio, kernel, stride, input_channels, out_channels, num_layers, block or FusedMBConv)


class _Residual(nn.Module):
    """The layers of a block, around them a shortcut where shapes agree, dropped at random in training."""

    def __init__(self, cnf, layers, stochastic_depth_prob):
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        self.block = nn.Sequential(*layers)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.out_channels = cnf.out_channels

    def forward(self, input):
        result = self.block(input)
        if self.use_res_connect:
            result = self.stochastic_depth(result)
            result += input
        return result


class MBConv(_Residual):
    """1x1 that widens, depthwise, squeeze-excitation, 1x1 that narrows."""

    def __init__(self, cnf, stochastic_depth_prob, norm_layer, se_layer=SqueezeExcitation):
        wide = cnf.adjust_channels(cnf.input_channels, cnf.expand_ratio)
        style = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        layers = []
        if wide != cnf.input_channels:
            layers.append(Conv2dNormActivation(cnf.input_channels, wide, kernel_size=1, **style))
        layers.append(Conv2dNormActivation(wide, wide, cnf.kernel, cnf.stride, groups=wide, **style))
        squeeze = max(1, cnf.input_channels // 4)
        layers.append(se_layer(wide, squeeze, activation=partial(nn.SiLU, inplace=True)))
        layers.append(
            Conv2dNormActivation(wide, cnf.out_channels, kernel_size=1, norm_layer=norm_layer, activation_layer=None)
        )
        super().__init__(cnf, layers, stochastic_depth_prob)


class FusedMBConv(_Residual):
    """A full convolution in place of MBConv's widening and depthwise ones."""

    def __init__(self, cnf, stochastic_depth_prob, norm_layer):
        wide = cnf.adjust_channels(cnf.input_channels, cnf.expand_ratio)
        style = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        first = wide if wide != cnf.input_channels else cnf.out_channels
        layers = [Conv2dNormActivation(cnf.input_channels, first, cnf.kernel, cnf.stride, **style)]
        if wide != cnf.input_channels:
            narrow = {"norm_layer": norm_layer, "activation_layer": None}
            layers.append(Conv2dNormActivation(wide, cnf.out_channels, kernel_size=1, **narrow))
        super().__init__(cnf, layers, stochastic_depth_prob)


class EfficientNet(nn.Module):
    """A network of the stages that `inverted_residual_setting` lists.

    Shape: (N, 3, H, W) -> (N, num_classes)
    """

    def __init__(
        self,
        inverted_residual_setting,
        dropout,
        stochastic_depth_prob=0.2,
        num_classes=1000,
        norm_layer=None,
        last_channel=None,
    ):
        super().__init__()
        setting = inverted_residual_setting
        if not setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        if not (isinstance(setting, Sequence) and all(isinstance(s, _MBConvConfig) for s in setting)):
            raise TypeError("The inverted_residual_setting should be List[MBConvConfig]")
        norm_layer = norm_layer or nn.BatchNorm2d
        style = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        layers: list[nn.Module] = [Conv2dNormActivation(3, setting[0].input_channels, kernel_size=3, stride=2, **style)]
        total = sum(cnf.num_layers for cnf in setting)
        done = 0
        for cnf in setting:
            stage = []
            for i in range(cnf.num_layers):
                block = copy.copy(cnf)
                if i > 0:
                    block.input_channels, block.stride = cnf.out_channels, 1
                stage.append(block.block(block, stochastic_depth_prob * float(done) / total, norm_layer))
                done += 1
            layers.append(nn.Sequential(*stage))
        width = setting[-1].out_channels
        last = 4 * width if last_channel is None else last_channel
        layers.append(Conv2dNormActivation(width, last, kernel_size=1, **style))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout, inplace=True), nn.Linear(last, num_classes))
        self._initialize()

    def _initialize(self):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out")
                if m.bias is not None:
                    nn.init.zeros_(m.bias)
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)
            elif isinstance(m, nn.Linear):
                bound = 1.0 / math.sqrt(m.out_features)
                nn.init.uniform_(m.weight, -bound, bound)
                nn.init.zeros_(m.bias)

    def _forward_impl(self, x):
        x = self.avgpool(self.features(x))
        return self.classifier(torch.flatten(x, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


# expansion, kernel, stride, channels in and out, blocks
_B = [
    (1, 3, 1, 32, 16, 1),
    (6, 3, 2, 16, 24, 2),
    (6, 5, 2, 24, 40, 2),
    (6, 3, 2, 40, 80, 3),
    (6, 5, 1, 80, 112, 3),
    (6, 5, 2, 112, 192, 4),
    (6, 3, 1, 192, 320, 1),
]
# the first three stages of V2 are fused
_V2 = {
    "s": [
        (1, 3, 1, 24, 24, 2),
        (4, 3, 2, 24, 48, 4),
        (4, 3, 2, 48, 64, 4),
        (4, 3, 2, 64, 128, 6),
        (6, 3, 1, 128, 160, 9),
        (6, 3, 2, 160, 256, 15),
    ],
    "m": [
        (1, 3, 1, 24, 24, 3),
        (4, 3, 2, 24, 48, 5),
        (4, 3, 2, 48, 80, 5),
        (4, 3, 2, 80, 160, 7),
        (6, 3, 1, 160, 176, 14),
        (6, 3, 2, 176, 304, 18),
        (6, 3, 1, 304, 512, 5),
    ],
    "l": [
        (1, 3, 1, 32, 32, 4),
        (4, 3, 2, 32, 64, 7),
        (4, 3, 2, 64, 96, 7),
        (4, 3, 2, 96, 192, 10),
        (6, 3, 1, 192, 224, 19),
        (6, 3, 2, 224, 384, 25),
        (6, 3, 1, 384, 640, 7),
    ],
}


def _b(width_mult, depth_mult, dropout, options):
    """EfficientNet B0 to B7: the same stages, scaled."""
    setting = [MBConvConfig(*row, width_mult=width_mult, depth_mult=depth_mult) for row in _B]
    return EfficientNet(setting, options.pop("dropout", dropout), **options)


def _b_slow_norm(width_mult, depth_mult, dropout, options):
    norm_layer = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
    return _b(width_mult, depth_mult, dropout, {"norm_layer": norm_layer, **_unset(options, "norm_layer")})


def _v2(size, dropout, options):
    rows = _V2[size]
    setting = [FusedMBConvConfig(*row) for row in rows[:3]] + [MBConvConfig(*row) for row in rows[3:]]
    options = _unset(_unset(options, "norm_layer"), "last_channel")
    options["norm_layer"] = partial(nn.BatchNorm2d, eps=1e-03)
    return EfficientNet(setting, options.pop("dropout", dropout), last_channel=1280, **options)


def _unset(options, name):
    """The options, in which this one, which the model sets itself, may not be; TypeError otherwise."""
    if name in options:
        raise TypeError(f"EfficientNet() got multiple values for keyword argument {name!r}")
    return options


EfficientNet_B0_Weights = weights_enum("EfficientNet_B0_Weights", __name__)
EfficientNet_B1_Weights = weights_enum("EfficientNet_B1_Weights", __name__)
EfficientNet_B2_Weights = weights_enum("EfficientNet_B2_Weights", __name__)
EfficientNet_B3_Weights = weights_enum("EfficientNet_B3_Weights", __name__)
EfficientNet_B4_Weights = weights_enum("EfficientNet_B4_Weights", __name__)
EfficientNet_B5_Weights = weights_enum("EfficientNet_B5_Weights", __name__)
EfficientNet_B6_Weights = weights_enum("EfficientNet_B6_Weights", __name__)
EfficientNet_B7_Weights = weights_enum("EfficientNet_B7_Weights", __name__)
EfficientNet_V2_S_Weights = weights_enum("EfficientNet_V2_S_Weights", __name__)
EfficientNet_V2_M_Weights = weights_enum("EfficientNet_V2_M_Weights", __name__)
EfficientNet_V2_L_Weights = weights_enum("EfficientNet_V2_L_Weights", __name__)


@builder(EfficientNet_B0_Weights)
def efficientnet_b0(**kwargs):
    """EfficientNet B0."""
    return _b(1.0, 1.0, 0.2, kwargs)


@builder(EfficientNet_B1_Weights)
def efficientnet_b1(**kwargs):
    """EfficientNet B1."""
    return _b(1.0, 1.1, 0.2, kwargs)


@builder(EfficientNet_B2_Weights)
def efficientnet_b2(**kwargs):
    """EfficientNet B2."""
    return _b(1.1, 1.2, 0.3, kwargs)


@builder(EfficientNet_B3_Weights)
def efficientnet_b3(**kwargs):
    """EfficientNet B3."""
    return _b(1.2, 1.4, 0.3, kwargs)


@builder(EfficientNet_B4_Weights)
def efficientnet_b4(**kwargs):
    """EfficientNet B4."""
    return _b(1.4, 1.8, 0.4, kwargs)


@builder(EfficientNet_B5_Weights)
def efficientnet_b5(**kwargs):
    """EfficientNet B5."""
    return _b_slow_norm(1.6, 2.2, 0.4, kwargs)


@builder(EfficientNet_B6_Weights)
def efficientnet_b6(**kwargs):
    """EfficientNet B6."""
    return _b_slow_norm(1.8, 2.6, 0.5, kwargs)


@builder(EfficientNet_B7_Weights)
def efficientnet_b7(**kwargs):
    """EfficientNet B7."""
    return _b_slow_norm(2.0, 3.1, 0.5, kwargs)


@builder(EfficientNet_V2_S_Weights)
def efficientnet_v2_s(**kwargs):
    """EfficientNetV2, small."""
    return _v2("s", 0.2, kwargs)


@builder(EfficientNet_V2_M_Weights)
def efficientnet_v2_m(**kwargs):
    """EfficientNetV2, medium."""
    return _v2("m", 0.3, kwargs)


@builder(EfficientNet_V2_L_Weights)
def efficientnet_v2_l(**kwargs):
    """EfficientNetV2, large."""
    return _v2("l", 0.4, kwargs)
