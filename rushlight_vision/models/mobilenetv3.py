"""MobileNetV3 (Howard et al., arXiv 1905.02244)."""

from collections.abc import Sequence
from functools import partial

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, weights_enum
from rushlight_vision.models._utils import _make_divisible
from rushlight_vision.ops.layers import Conv2dNormActivation, SqueezeExcitation

__all__ = [
    "MobileNetV3",
    "MobileNet_V3_Large_Weights",
    "MobileNet_V3_Small_Weights",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
]


_HARD_SE = partial(SqueezeExcitation, scale_activation=nn.Hardsigmoid)


class InvertedResidualConfig:
    """One block: channels in, kernel, channels between, channels out, squeeze-excitation, 'HS' or 'RE', stride."""

    def __init__(
        self, input_channels, kernel, expanded_channels, out_channels, use_se, activation, stride, dilation, width_mult
    ):
        self.input_channels = self.adjust_channels(input_channels, width_mult)
        self.kernel = kernel
        self.expanded_channels = self.adjust_channels(expanded_channels, width_mult)
        self.out_channels = self.adjust_channels(out_channels, width_mult)
        self.use_se = use_se
        self.use_hs = activation == "HS"
        self.stride = stride
        self.dilation = dilation

    @staticmethod
    def adjust_channels(channels, width_mult):
        return _make_divisible(channels * width_mult, 8)


class InvertedResidual(nn.Module):
    """1x1 that widens, depthwise, squeeze-excitation, 1x1 that narrows; a shortcut where shapes agree."""

    def __init__(self, cnf, norm_layer, se_layer=_HARD_SE):
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        wide = cnf.expanded_channels
        style = {"norm_layer": norm_layer, "activation_layer": nn.Hardswish if cnf.use_hs else nn.ReLU}
        layers = []
        if wide != cnf.input_channels:
            layers.append(Conv2dNormActivation(cnf.input_channels, wide, kernel_size=1, **style))
        stride = 1 if cnf.dilation > 1 else cnf.stride
        layers.append(Conv2dNormActivation(wide, wide, cnf.kernel, stride, groups=wide, dilation=cnf.dilation, **style))
        if cnf.use_se:
            layers.append(se_layer(wide, _make_divisible(wide // 4, 8)))
        layers.append(
            Conv2dNormActivation(wide, cnf.out_channels, kernel_size=1, norm_layer=norm_layer, activation_layer=None)
        )
        self.block = nn.Sequential(*layers)
        self.out_channels = cnf.out_channels
        self._is_cn = cnf.stride > 1

    def forward(self, input):
        result = self.block(input)
        if self.use_res_connect:
            result += input
        return result


class MobileNetV3(nn.Module):
    """A network of the blocks that `inverted_residual_setting` lists.

    Shape: (N, 3, H, W) -> (N, num_classes)
    """

    def __init__(
        self,
        inverted_residual_setting,
        last_channel,
        num_classes=1000,
        block=None,
        norm_layer=None,
        dropout=0.2,
        **kwargs,
    ):
        super().__init__()
        setting = inverted_residual_setting
        if not setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        if not (isinstance(setting, Sequence) and all(isinstance(s, InvertedResidualConfig) for s in setting)):
            raise TypeError("The inverted_residual_setting should be List[InvertedResidualConfig]")
        block = block or InvertedResidual
        norm_layer = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        style = {"norm_layer": norm_layer, "activation_layer": nn.Hardswish}
        width = setting[-1].out_channels
        self.features = nn.Sequential(
            Conv2dNormActivation(3, setting[0].input_channels, kernel_size=3, stride=2, **style),
            *(block(cnf, norm_layer) for cnf in setting),
            Conv2dNormActivation(width, 6 * width, kernel_size=1, **style),
        )
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * width, last_channel),
            nn.Hardswish(inplace=True),
            nn.Dropout(p=dropout, inplace=True),
            nn.Linear(last_channel, num_classes),
        )
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out")
                if m.bias is not None:
                    nn.init.zeros_(m.bias)
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, 0, 0.01)
                nn.init.zeros_(m.bias)

    def _forward_impl(self, x):
        x = self.avgpool(self.features(x))
        return self.classifier(torch.flatten(x, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


# input, kernel, expanded, output channels, squeeze-excitation, activation, stride; the last blocks make up the tail,
# which a reduced tail halves and which dilates in segmentation models
_LARGE = [
    (16, 3, 16, 16, False, "RE", 1),
    (16, 3, 64, 24, False, "RE", 2),
    (24, 3, 72, 24, False, "RE", 1),
    (24, 5, 72, 40, True, "RE", 2),
    (40, 5, 120, 40, True, "RE", 1),
    (40, 5, 120, 40, True, "RE", 1),
    (40, 3, 240, 80, False, "HS", 2),
    (80, 3, 200, 80, False, "HS", 1),
    (80, 3, 184, 80, False, "HS", 1),
    (80, 3, 184, 80, False, "HS", 1),
    (80, 3, 480, 112, True, "HS", 1),
    (112, 3, 672, 112, True, "HS", 1),
]
_SMALL = [
    (16, 3, 16, 16, True, "RE", 2),
    (16, 3, 72, 24, False, "RE", 2),
    (24, 3, 88, 24, False, "RE", 1),
    (24, 5, 96, 40, True, "HS", 2),
    (40, 5, 240, 40, True, "HS", 1),
    (40, 5, 240, 40, True, "HS", 1),
    (40, 5, 120, 48, True, "HS", 1),
    (48, 5, 144, 48, True, "HS", 1),
]
# head, (channels before the tail, its first expansion, its channels), last layer
_ARCHITECTURES = {
    "mobilenet_v3_large": (_LARGE, 112, 672, 160, 1280),
    "mobilenet_v3_small": (_SMALL, 48, 288, 96, 1024),
}


def _mobilenet_v3_conf(arch, width_mult=1.0, reduced_tail=False, dilated=False, **kwargs):
    """(list of InvertedResidualConfig, width of the last hidden layer)."""
    head, before, expansion, tail, last = _ARCHITECTURES[arch]
    divisor = 2 if reduced_tail else 1
    dilation = 2 if dilated else 1
    width, wide = tail // divisor, tail * 6 // divisor
    rows = [(*row, 1) for row in head]
    rows.append((before, 5, expansion, width, True, "HS", 2, dilation))
    rows += [(width, 5, wide, width, True, "HS", 1, dilation)] * 2
    setting = [InvertedResidualConfig(*row, width_mult) for row in rows]
    return setting, InvertedResidualConfig.adjust_channels(last // divisor, width_mult)


MobileNet_V3_Large_Weights = weights_enum("MobileNet_V3_Large_Weights", __name__)
MobileNet_V3_Small_Weights = weights_enum("MobileNet_V3_Small_Weights", __name__)


@builder(MobileNet_V3_Large_Weights)
def mobilenet_v3_large(**kwargs):
    """MobileNetV3, large."""
    return MobileNetV3(*_mobilenet_v3_conf("mobilenet_v3_large", **kwargs), **kwargs)


@builder(MobileNet_V3_Small_Weights)
def mobilenet_v3_small(**kwargs):
    """MobileNetV3, small."""
    return MobileNetV3(*_mobilenet_v3_conf("mobilenet_v3_small", **kwargs), **kwargs)
