"""ConvNeXt (Liu et al., arXiv 2201.03545)."""

from collections.abc import Sequence
from functools import partial

import rushlight as torch
from rushlight import Tensor, nn
from rushlight.nn import functional as F
from rushlight_vision.models._api import builder, weights_enum
from rushlight_vision.ops.layers import Conv2dNormActivation, Permute
from rushlight_vision.ops.stochastic_depth import StochasticDepth

__all__ = [
    "ConvNeXt",
    "ConvNeXt_Base_Weights",
    "ConvNeXt_Large_Weights",
    "ConvNeXt_Small_Weights",
    "ConvNeXt_Tiny_Weights",
    "convnext_base",
    "convnext_large",
    "convnext_small",
    "convnext_tiny",
]


class LayerNorm2d(nn.LayerNorm):
    """Layer normalization over the channels of (N, C, H, W)."""

    def forward(self, x):
        x = F.layer_norm(x.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    """x + scale * (depthwise 7x7, norm, and two linear layers over the channels)(x)."""

    def __init__(self, dim, layer_scale, stochastic_depth_prob, norm_layer=None):
        super().__init__()
        norm_layer = norm_layer or partial(nn.LayerNorm, eps=1e-6)
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim, bias=True),
            Permute([0, 2, 3, 1]),
            norm_layer(dim),
            nn.Linear(in_features=dim, out_features=4 * dim, bias=True),
            nn.GELU(),
            nn.Linear(in_features=4 * dim, out_features=dim, bias=True),
            Permute([0, 3, 1, 2]),
        )
        self.layer_scale = nn.Parameter(torch.ones(dim, 1, 1) * layer_scale)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, input):
        result = self.stochastic_depth(self.layer_scale * self.block(input))
        result += input
        return result


class CNBlockConfig:
    """One stage: channels in it, channels after it (None for the last), blocks."""

    def __init__(self, input_channels, out_channels, num_layers):
        self.input_channels = input_channels
        self.out_channels = out_channels
        self.num_layers = num_layers

    def __repr__(self):
        names = ("input_channels", "out_channels", "num_layers")
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in names)})"


class ConvNeXt(nn.Module):
    """A network of the stages that `block_setting` lists.

    Shape: (N, 3, H, W), H and W from 32 -> (N, num_classes)
    """

    def __init__(
        self,
        block_setting,
        stochastic_depth_prob=0.0,
        layer_scale=1e-6,
        num_classes=1000,
        block=None,
        norm_layer=None,
        **kwargs,
    ):
        super().__init__()
        if not block_setting:
            raise ValueError("The block_setting should not be empty")
        if not (isinstance(block_setting, Sequence) and all(isinstance(s, CNBlockConfig) for s in block_setting)):
            raise TypeError("The block_setting should be List[CNBlockConfig]")
        block = block or CNBlock
        norm_layer = norm_layer or partial(LayerNorm2d, eps=1e-6)
        patches = {"kernel_size": 4, "stride": 4, "padding": 0, "bias": True}
        style = {"norm_layer": norm_layer, "activation_layer": None}
        layers: list[nn.Module] = [Conv2dNormActivation(3, block_setting[0].input_channels, **patches, **style)]
        total = sum(cnf.num_layers for cnf in block_setting)
        done = 0
        for cnf in block_setting:
            depths = range(done, done + cnf.num_layers)
            probabilities = [stochastic_depth_prob * depth / (total - 1.0) for depth in depths]
            layers.append(nn.Sequential(*(block(cnf.input_channels, layer_scale, p) for p in probabilities)))
            done += cnf.num_layers
            if cnf.out_channels is not None:
                down = nn.Sequential(
                    norm_layer(cnf.input_channels),
                    nn.Conv2d(cnf.input_channels, cnf.out_channels, kernel_size=2, stride=2),
                )
                layers.append(down)
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        last = block_setting[-1]
        width = last.input_channels if last.out_channels is None else last.out_channels
        self.classifier = nn.Sequential(norm_layer(width), nn.Flatten(1), nn.Linear(width, num_classes))
        for m in self.modules():
            if isinstance(m, (nn.Conv2d, nn.Linear)):
                nn.init.trunc_normal_(m.weight, std=0.02)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)

    def _forward_impl(self, x):
        return self.classifier(self.avgpool(self.features(x)))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


def _convnext(widths, depths, stochastic_depth_prob, options):
    setting = [CNBlockConfig(*row) for row in zip(widths, (*widths[1:], None), depths, strict=True)]
    probability = options.pop("stochastic_depth_prob", stochastic_depth_prob)
    return ConvNeXt(setting, stochastic_depth_prob=probability, **options)


ConvNeXt_Tiny_Weights = weights_enum("ConvNeXt_Tiny_Weights", __name__)
ConvNeXt_Small_Weights = weights_enum("ConvNeXt_Small_Weights", __name__)
ConvNeXt_Base_Weights = weights_enum("ConvNeXt_Base_Weights", __name__)
ConvNeXt_Large_Weights = weights_enum("ConvNeXt_Large_Weights", __name__)


@builder(ConvNeXt_Tiny_Weights)
def convnext_tiny(**kwargs):
    """ConvNeXt, tiny."""
    return _convnext((96, 192, 384, 768), (3, 3, 9, 3), 0.1, kwargs)


@builder(ConvNeXt_Small_Weights)
def convnext_small(**kwargs):
    """ConvNeXt, small."""
    return _convnext((96, 192, 384, 768), (3, 3, 27, 3), 0.4, kwargs)


@builder(ConvNeXt_Base_Weights)
def convnext_base(**kwargs):
    """ConvNeXt, base."""
    return _convnext((128, 256, 512, 1024), (3, 3, 27, 3), 0.5, kwargs)


@builder(ConvNeXt_Large_Weights)
def convnext_large(**kwargs):
    """ConvNeXt, large."""
    return _convnext((192, 384, 768, 1536), (3, 3, 27, 3), 0.5, kwargs)
