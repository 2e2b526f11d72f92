"""VGG networks (Simonyan and Zisserman, arXiv 1409.1556), with and without batch normalization."""

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, weights_enum

__all__ = [
    "VGG",
    "VGG11_BN_Weights",
    "VGG11_Weights",
    "VGG13_BN_Weights",
    "VGG13_Weights",
    "VGG16_BN_Weights",
    "VGG16_Weights",
    "VGG19_BN_Weights",
    "VGG19_Weights",
    "vgg11",
    "vgg11_bn",
    "vgg13",
    "vgg13_bn",
    "vgg16",
    "vgg16_bn",
    "vgg19",
    "vgg19_bn",
]


class VGG(nn.Module):
    """Convolutional `features`, then three linear layers.

    Shape: (N, 3, H, W) -> (N, num_classes)
    """

    def __init__(self, features, num_classes=1000, init_weights=True, dropout=0.5):
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            self._initialize()

    def _initialize(self):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(m.bias)
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, 0, 0.01)
                nn.init.zeros_(m.bias)

    def forward(self, x: Tensor) -> Tensor:
        x = self.avgpool(self.features(x))
        return self.classifier(torch.flatten(x, 1))


# Channels of the convolutions of each stage; a pool of stride 2 ends a stage
_STAGES = {
    "A": ([64], [128], [256] * 2, [512] * 2, [512] * 2),
    "B": ([64] * 2, [128] * 2, [256] * 2, [512] * 2, [512] * 2),
    "D": ([64] * 2, [128] * 2, [256] * 3, [512] * 3, [512] * 3),
    "E": ([64] * 2, [128] * 2, [256] * 4, [512] * 4, [512] * 4),
}
cfgs = {name: [step for stage in stages for step in (*stage, "M")] for name, stages in _STAGES.items()}


def make_layers(cfg, batch_norm=False):
    """The convolutions of a list of channel counts, with a max pool for each "M"."""
    layers = []
    channels = 3
    for step in cfg:
        if step == "M":
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
            continue
        layers.append(nn.Conv2d(channels, step, kernel_size=3, padding=1))
        if batch_norm:
            layers.append(nn.BatchNorm2d(step))
        layers.append(nn.ReLU(inplace=True))
        channels = step
    return nn.Sequential(*layers)


def _leave_unset(weights, options):
    options["init_weights"] = False


VGG11_Weights = weights_enum("VGG11_Weights", __name__)
VGG11_BN_Weights = weights_enum("VGG11_BN_Weights", __name__)
VGG13_Weights = weights_enum("VGG13_Weights", __name__)
VGG13_BN_Weights = weights_enum("VGG13_BN_Weights", __name__)
VGG16_Weights = weights_enum("VGG16_Weights", __name__)
VGG16_BN_Weights = weights_enum("VGG16_BN_Weights", __name__)
VGG19_Weights = weights_enum("VGG19_Weights", __name__)
VGG19_BN_Weights = weights_enum("VGG19_BN_Weights", __name__)


@builder(VGG11_Weights, prepare=_leave_unset)
def vgg11(**kwargs):
    """VGG of 11 layers."""
    return VGG(make_layers(cfgs["A"]), **kwargs)


@builder(VGG11_BN_Weights, prepare=_leave_unset)
def vgg11_bn(**kwargs):
    """VGG of 11 layers with batch normalization."""
    return VGG(make_layers(cfgs["A"], batch_norm=True), **kwargs)


@builder(VGG13_Weights, prepare=_leave_unset)
def vgg13(**kwargs):
    """VGG of 13 layers."""
    return VGG(make_layers(cfgs["B"]), **kwargs)


@builder(VGG13_BN_Weights, prepare=_leave_unset)
def vgg13_bn(**kwargs):
    """VGG of 13 layers with batch normalization."""
    return VGG(make_layers(cfgs["B"], batch_norm=True), **kwargs)


@builder(VGG16_Weights, prepare=_leave_unset)
def vgg16(**kwargs):
    """VGG of 16 layers."""
    return VGG(make_layers(cfgs["D"]), **kwargs)


@builder(VGG16_BN_Weights, prepare=_leave_unset)
def vgg16_bn(**kwargs):
    """VGG of 16 layers with batch normalization."""
    return VGG(make_layers(cfgs["D"], batch_norm=True), **kwargs)


@builder(VGG19_Weights, prepare=_leave_unset)
def vgg19(**kwargs):
    """VGG of 19 layers."""
    return VGG(make_layers(cfgs["E"]), **kwargs)


@builder(VGG19_BN_Weights, prepare=_leave_unset)
def vgg19_bn(**kwargs):
    """VGG of 19 layers with batch normalization."""
    return VGG(make_layers(cfgs["E"], batch_norm=True), **kwargs)
