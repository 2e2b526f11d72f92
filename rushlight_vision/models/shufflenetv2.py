"""ShuffleNetV2 (Ma et al., arXiv 1807.11164)."""

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, weights_enum

__all__ = [
    "ShuffleNetV2",
    "ShuffleNet_V2_X0_5_Weights",
    "ShuffleNet_V2_X1_0_Weights",
    "ShuffleNet_V2_X1_5_Weights",
    "ShuffleNet_V2_X2_0_Weights",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0",
]


def channel_shuffle(x, groups):
    """The channels of (N, C, H, W) dealt out: the first of each group, then the second of each, ..."""
    count, channels, height, width = x.size()
    dealt = x.view(count, groups, channels // groups, height, width).transpose(1, 2).contiguous()
    return dealt.view(count, channels, height, width)


class InvertedResidual(nn.Module):
    """Two branches whose outputs are joined and shuffled; at stride 1 the first is half the channels, unchanged."""

    def __init__(self, inp, oup, stride):
        super().__init__()
        if not (1 <= stride <= 3):
            raise ValueError("illegal stride value")
        self.stride = stride
        half = oup // 2
        if stride == 1 and inp != half << 1:
            raise ValueError(
                f"Invalid combination of stride {stride}, inp {inp} and oup {oup} values. If stride == 1 then inp should "
                "be equal to oup // 2 << 1."
            )
        first = []
        if stride > 1:
            depthwise = self.depthwise_conv(inp, inp, 3, stride, 1)
            first = [depthwise, nn.BatchNorm2d(inp), *_pointwise(inp, half)]
        self.branch1 = nn.Sequential(*first)
        self.branch2 = nn.Sequential(
            *_pointwise(inp if stride > 1 else half, half),
            self.depthwise_conv(half, half, 3, stride, 1),
            nn.BatchNorm2d(half),
            *_pointwise(half, half),
        )

    @staticmethod
    def depthwise_conv(i, o, kernel_size, stride=1, padding=0, bias=False):
        return nn.Conv2d(i, o, kernel_size, stride, padding, bias=bias, groups=i)

    def forward(self, x):
        kept, changed = x.chunk(2, dim=1) if self.stride == 1 else (self.branch1(x), x)
        return channel_shuffle(torch.cat((kept, self.branch2(changed)), dim=1), 2)


def _pointwise(channels_in, channels_out):
    return nn.Conv2d(channels_in, channels_out, 1, bias=False), nn.BatchNorm2d(channels_out), nn.ReLU(inplace=True)


class ShuffleNetV2(nn.Module):
    """Three stages of `stages_repeats` blocks; `stages_out_channels` of the stem, the stages and the last convolution.

    Shape: (N, 3, H, W) -> (N, num_classes)
    """

    def __init__(self, stages_repeats, stages_out_channels, num_classes=1000, inverted_residual=InvertedResidual):
        super().__init__()
        if len(stages_repeats) != 3:
            raise ValueError("expected stages_repeats as list of 3 positive ints")
        if len(stages_out_channels) != 5:
            raise ValueError("expected stages_out_channels as list of 5 positive ints")
        self._stage_out_channels = stages_out_channels
        width, *stages, last = stages_out_channels
        self.conv1 = nn.Sequential(
            nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True)
        )
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        for number, repeats, channels in zip((2, 3, 4), stages_repeats, stages, strict=True):
            blocks = [inverted_residual(width, channels, 2)]
            blocks += [inverted_residual(channels, channels, 1) for _ in range(repeats - 1)]
            setattr(self, f"stage{number}", nn.Sequential(*blocks))
            width = channels
        self.conv5 = nn.Sequential(*_pointwise(width, last))
        self.fc = nn.Linear(last, num_classes)

    def _forward_impl(self, x):
        x = self.maxpool(self.conv1(x))
        x = self.conv5(self.stage4(self.stage3(self.stage2(x))))
        return self.fc(x.mean([2, 3]))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


ShuffleNet_V2_X0_5_Weights = weights_enum("ShuffleNet_V2_X0_5_Weights", __name__)
ShuffleNet_V2_X1_0_Weights = weights_enum("ShuffleNet_V2_X1_0_Weights", __name__)
ShuffleNet_V2_X1_5_Weights = weights_enum("ShuffleNet_V2_X1_5_Weights", __name__)
ShuffleNet_V2_X2_0_Weights = weights_enum("ShuffleNet_V2_X2_0_Weights", __name__)
_REPEATS = [4, 8, 4]


@builder(ShuffleNet_V2_X0_5_Weights)
def shufflenet_v2_x0_5(**kwargs):
    """ShuffleNetV2, half as wide."""
    return ShuffleNetV2(_REPEATS, [24, 48, 96, 192, 1024], **kwargs)


@builder(ShuffleNet_V2_X1_0_Weights)
def shufflenet_v2_x1_0(**kwargs):
    """ShuffleNetV2."""
    return ShuffleNetV2(_REPEATS, [24, 116, 232, 464, 1024], **kwargs)


@builder(ShuffleNet_V2_X1_5_Weights)
def shufflenet_v2_x1_5(**kwargs):
    """ShuffleNetV2, 1.5 times as wide."""
    return ShuffleNetV2(_REPEATS, [24, 176, 352, 704, 1024], **kwargs)


@builder(ShuffleNet_V2_X2_0_Weights)
def shufflenet_v2_x2_0(**kwargs):
    """ShuffleNetV2, twice as wide."""
    return ShuffleNetV2(_REPEATS, [24, 244, 488, 976, 2048], **kwargs)
