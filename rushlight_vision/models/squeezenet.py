"""SqueezeNet (Iandola et al., arXiv 1602.07360)."""

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, weights_enum

__all__ = ["SqueezeNet", "SqueezeNet1_0_Weights", "SqueezeNet1_1_Weights", "squeezenet1_0", "squeezenet1_1"]


class Fire(nn.Module):
    """A 1x1 convolution that squeezes, then a 1x1 and a 3x3 one side by side that expand."""

    def __init__(self, inplanes, squeeze_planes, expand1x1_planes, expand3x3_planes):
        super().__init__()
        self.inplanes = inplanes
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, kernel_size=1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, kernel_size=1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, kernel_size=3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x):
        x = self.squeeze_activation(self.squeeze(x))
        narrow = self.expand1x1_activation(self.expand1x1(x))
        return torch.cat([narrow, self.expand3x3_activation(self.expand3x3(x))], 1)


# (channels, size of the first convolution), then squeeze and expand widths of each Fire; None: a pool
_STEPS = {
    "1_0": ((96, 7), None, (16, 64), (16, 64), (32, 128), None, (32, 128), (48, 192), (48, 192), (64, 256), None, (64, 256)),
    "1_1": ((64, 3), None, (16, 64), (16, 64), None, (32, 128), (32, 128), None, (48, 192), (48, 192), (64, 256), (64, 256)),
}  # fmt: skip


class SqueezeNet(nn.Module):
    """SqueezeNet of version '1_0' or '1_1'.

    Shape: (N, 3, H, W), H and W from 21 (1_0) or 17 (1_1) -> (N, num_classes)
    """

    def __init__(self, version="1_0", num_classes=1000, dropout=0.5):
        super().__init__()
        self.num_classes = num_classes
        if version not in _STEPS:
            raise ValueError(f"Unsupported SqueezeNet version {version}: 1_0 or 1_1 expected")
        (channels, size), *steps = _STEPS[version]
        layers = [nn.Conv2d(3, channels, kernel_size=size, stride=2), nn.ReLU(inplace=True)]
        for step in steps:
            if step is None:
                layers.append(nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True))
            else:
                squeeze, expand = step
                layers.append(Fire(channels, squeeze, expand, expand))
                channels = 2 * expand
        self.features = nn.Sequential(*layers)
        final = nn.Conv2d(512, num_classes, kernel_size=1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), final, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1))
        )
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                if m is final:
                    nn.init.normal_(m.weight, mean=0.0, std=0.01)
                else:
                    nn.init.kaiming_uniform_(m.weight)
                nn.init.zeros_(m.bias)

    def forward(self, x: Tensor) -> Tensor:
        return torch.flatten(self.classifier(self.features(x)), 1)


SqueezeNet1_0_Weights = weights_enum("SqueezeNet1_0_Weights", __name__)
SqueezeNet1_1_Weights = weights_enum("SqueezeNet1_1_Weights", __name__)


@builder(SqueezeNet1_0_Weights)
def squeezenet1_0(**kwargs):
    """SqueezeNet 1.0."""
    return SqueezeNet("1_0", **kwargs)


@builder(SqueezeNet1_1_Weights)
def squeezenet1_1(**kwargs):
    """SqueezeNet 1.1, as accurate with 2.4 times less work."""
    return SqueezeNet("1_1", **kwargs)
