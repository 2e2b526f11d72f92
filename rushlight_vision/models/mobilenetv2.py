"""MobileNetV2 (Sandler et al., arXiv 1801.04381): inverted residuals with linear bottlenecks."""

import rushlight as torch
from rushlight import Tensor, nn
from rushlight.nn import functional as F
from rushlight_vision.models._api import builder, weights_enum
from rushlight_vision.models._utils import _make_divisible
from rushlight_vision.ops.layers import Conv2dNormActivation

__all__ = ["MobileNetV2", "MobileNet_V2_Weights", "mobilenet_v2"]

# (expansion, channels, blocks, stride of the first block) of each stage
_STAGES = [(1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)]


class InvertedResidual(nn.Module):
    """1x1 that widens, depthwise 3x3, 1x1 that narrows without activation; a shortcut where shapes agree."""

    def __init__(self, inp, oup, stride, expand_ratio, norm_layer=None):
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        self.stride = stride
        norm_layer = norm_layer or nn.BatchNorm2d
        hidden = round(inp * expand_ratio)
        self.use_res_connect = stride == 1 and inp == oup
        style = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
        layers = [Conv2dNormActivation(inp, hidden, kernel_size=1, **style)] if expand_ratio != 1 else []
        self.conv = nn.Sequential(
            *layers,
            Conv2dNormActivation(hidden, hidden, stride=stride, groups=hidden, **style),
            nn.Conv2d(hidden, oup, 1, 1, 0, bias=False),
            norm_layer(oup),
        )
        self.out_channels = oup
        self._is_cn = stride > 1

    def forward(self, x):
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


class MobileNetV2(nn.Module):
    """MobileNetV2, its channels times `width_mult`, rounded to multiples of `round_nearest`.

    Shape: (N, 3, H, W) -> (N, num_classes)
    """

    def __init__(
        self,
        num_classes=1000,
        width_mult=1.0,
        inverted_residual_setting=None,
        round_nearest=8,
        block=None,
        norm_layer=None,
        dropout=0.2,
    ):
        super().__init__()
        block = block or InvertedResidual
        norm_layer = norm_layer or nn.BatchNorm2d
        stages = _STAGES if inverted_residual_setting is None else inverted_residual_setting
        if len(stages) == 0 or len(stages[0]) != 4:
            raise ValueError(
                f"inverted_residual_setting should be non-empty or a 4-element list, got {inverted_residual_setting}"
            )
        width = _make_divisible(32 * width_mult, round_nearest)
        self.last_channel = _make_divisible(1280 * max(1.0, width_mult), round_nearest)
        style = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
        features: list[nn.Module] = [Conv2dNormActivation(3, width, stride=2, **style)]
        for expansion, channels, count, stride in stages:
            channels = _make_divisible(channels * width_mult, round_nearest)
            for i in range(count):
                features.append(block(width, channels, stride if i == 0 else 1, expansion, norm_layer=norm_layer))
                width = channels
        features.append(Conv2dNormActivation(width, self.last_channel, kernel_size=1, **style))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes))
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
        x = F.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(torch.flatten(x, 1))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


MobileNet_V2_Weights = weights_enum("MobileNet_V2_Weights", __name__)


@builder(MobileNet_V2_Weights)
def mobilenet_v2(**kwargs):
    """MobileNetV2."""
    return MobileNetV2(**kwargs)
