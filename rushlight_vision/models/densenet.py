"""DenseNet (Huang et al., arXiv 1608.06993): each layer sees the outputs of all those before it in its block."""

import re
from collections import OrderedDict

import rushlight as torch
from rushlight import Tensor, nn
from rushlight.nn import functional as F
from rushlight_vision.models._api import builder, weights_enum

__all__ = [
    "DenseNet",
    "DenseNet121_Weights",
    "DenseNet161_Weights",
    "DenseNet169_Weights",
    "DenseNet201_Weights",
    "densenet121",
    "densenet161",
    "densenet169",
    "densenet201",
]


class _DenseLayer(nn.Module):
    """norm, relu, 1x1 and norm, relu, 3x3: `growth_rate` new channels from all that came before."""

    def __init__(self, num_input_features, growth_rate, bn_size, drop_rate, memory_efficient=False):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(num_input_features)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, bn_size * growth_rate, kernel_size=1, bias=False)
        self.norm2 = nn.BatchNorm2d(bn_size * growth_rate)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(bn_size * growth_rate, growth_rate, kernel_size=3, padding=1, bias=False)
        self.drop_rate = float(drop_rate)
        self.memory_efficient = memory_efficient

    def _narrowed(self, *features):
        return self.conv1(self.relu1(self.norm1(torch.cat(features, 1))))

    def forward(self, input):
        features = [input] if isinstance(input, Tensor) else input
        if self.memory_efficient and any(feature.requires_grad for feature in features):
            from rushlight.utils.checkpoint import checkpoint

            narrow = checkpoint(self._narrowed, *features, use_reentrant=False)
        else:
            narrow = self._narrowed(*features)
        new = self.conv2(self.relu2(self.norm2(narrow)))
        return F.dropout(new, p=self.drop_rate, training=self.training) if self.drop_rate > 0 else new


class _DenseBlock(nn.ModuleDict):
    _version = 2

    def __init__(self, num_layers, num_input_features, bn_size, growth_rate, drop_rate, memory_efficient=False):
        super().__init__()
        for i in range(num_layers):
            width = num_input_features + i * growth_rate
            self.add_module(f"denselayer{i + 1}", _DenseLayer(width, growth_rate, bn_size, drop_rate, memory_efficient))

    def forward(self, init_features):
        features = [init_features]
        for layer in self.values():
            features.append(layer(features))
        return torch.cat(features, 1)


class _Transition(nn.Sequential):
    def __init__(self, num_input_features, num_output_features):
        super().__init__()
        self.norm = nn.BatchNorm2d(num_input_features)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(num_input_features, num_output_features, kernel_size=1, bias=False)
        self.pool = nn.AvgPool2d(kernel_size=2, stride=2)


class DenseNet(nn.Module):
    """Dense blocks of `block_config` layers, the channels halved between them.

    Shape: (N, 3, H, W), H and W from 29 -> (N, num_classes)

    bn_size: width of a layer's 1x1 convolution in units of growth_rate. memory_efficient recomputes in backward.
    """

    def __init__(
        self,
        growth_rate=32,
        block_config=(6, 12, 24, 16),
        num_init_features=64,
        bn_size=4,
        drop_rate: float = 0,
        num_classes=1000,
        memory_efficient=False,
    ):
        super().__init__()
        stem = OrderedDict(
            conv0=nn.Conv2d(3, num_init_features, kernel_size=7, stride=2, padding=3, bias=False),
            norm0=nn.BatchNorm2d(num_init_features),
            relu0=nn.ReLU(inplace=True),
            pool0=nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
        )
        self.features = nn.Sequential(stem)
        width = num_init_features
        for i, layers in enumerate(block_config, start=1):
            block = _DenseBlock(layers, width, bn_size, growth_rate, drop_rate, memory_efficient)
            self.features.add_module(f"denseblock{i}", block)
            width += layers * growth_rate
            if i != len(block_config):
                self.features.add_module(f"transition{i}", _Transition(width, width // 2))
                width //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(width))
        self.classifier = nn.Linear(width, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight)
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)
            elif isinstance(m, nn.Linear):
                nn.init.zeros_(m.bias)

    def forward(self, x: Tensor) -> Tensor:
        features = F.relu(self.features(x), inplace=True)
        return self.classifier(torch.flatten(F.adaptive_avg_pool2d(features, (1, 1)), 1))

    def _load_from_state_dict(self, state_dict, prefix, *args):
        """Also the published files, whose keys have a dot more: `denselayer1.norm.1.weight`."""
        older = re.compile(rf"^({re.escape(prefix)}features\..*denselayer\d+\.(?:norm|relu|conv))\.([12]\.\w+)$")
        for key in list(state_dict):
            if match := older.match(key):
                state_dict[match[1] + match[2]] = state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, *args)


DenseNet121_Weights = weights_enum("DenseNet121_Weights", __name__)
DenseNet161_Weights = weights_enum("DenseNet161_Weights", __name__)
DenseNet169_Weights = weights_enum("DenseNet169_Weights", __name__)
DenseNet201_Weights = weights_enum("DenseNet201_Weights", __name__)


@builder(DenseNet121_Weights)
def densenet121(**kwargs):
    """DenseNet-121."""
    return DenseNet(32, (6, 12, 24, 16), 64, **kwargs)


@builder(DenseNet161_Weights)
def densenet161(**kwargs):
    """DenseNet-161."""
    return DenseNet(48, (6, 12, 36, 24), 96, **kwargs)


@builder(DenseNet169_Weights)
def densenet169(**kwargs):
    """DenseNet-169."""
    return DenseNet(32, (6, 12, 32, 32), 64, **kwargs)


@builder(DenseNet201_Weights)
def densenet201(**kwargs):
    """DenseNet-201."""
    return DenseNet(32, (6, 12, 48, 32), 64, **kwargs)
