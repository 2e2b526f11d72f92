"""GoogLeNet (Szegedy et al., arXiv 1409.4842), with batch normalization."""

import warnings
from collections import namedtuple

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.models._api import builder, set_option, weights_enum

__all__ = ["GoogLeNet", "GoogLeNetOutputs", "GoogLeNet_Weights", "_GoogLeNetOutputs", "googlenet"]

GoogLeNetOutputs = namedtuple("GoogLeNetOutputs", ["logits", "aux_logits2", "aux_logits1"])
_GoogLeNetOutputs = GoogLeNetOutputs


class BasicConv2d(nn.Module):
    """A convolution, batch normalization and relu."""

    def __init__(self, in_channels, out_channels, **kwargs):
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, bias=False, **kwargs)
        self.bn = nn.BatchNorm2d(out_channels, eps=0.001)

    def forward(self, x):
        return F.relu(self.bn(self.conv(x)), inplace=True)


class Inception(nn.Module):
    """Four branches side by side: 1x1; 1x1 and 3x3; 1x1 and 3x3 (5x5 in the paper); a pool and 1x1."""

    def __init__(self, in_channels, ch1x1, ch3x3red, ch3x3, ch5x5red, ch5x5, pool_proj, conv_block=None):
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch1 = conv(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(
            conv(in_channels, ch3x3red, kernel_size=1), conv(ch3x3red, ch3x3, kernel_size=3, padding=1)
        )
        self.branch3 = nn.Sequential(
            conv(in_channels, ch5x5red, kernel_size=1), conv(ch5x5red, ch5x5, kernel_size=3, padding=1)
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=True),
            conv(in_channels, pool_proj, kernel_size=1),
        )

    def forward(self, x):
        return torch.cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class InceptionAux(nn.Module):
    """A classifier on features of the middle, for training."""

    def __init__(self, in_channels, num_classes, conv_block=None, dropout=0.7):
        super().__init__()
        self.conv = (conv_block or BasicConv2d)(in_channels, 128, kernel_size=1)
        self.fc1 = nn.Linear(2048, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x):
        x = torch.flatten(self.conv(F.adaptive_avg_pool2d(x, (4, 4))), 1)
        return self.fc2(self.dropout(F.relu(self.fc1(x), inplace=True)))


# channels in, then of the branches: 1x1; 3x3 before and after; 5x5 before and after; pool
_INCEPTIONS = {
    "3a": (192, 64, 96, 128, 16, 32, 32),
    "3b": (256, 128, 128, 192, 32, 96, 64),
    "4a": (480, 192, 96, 208, 16, 48, 64),
    "4b": (512, 160, 112, 224, 24, 64, 64),
    "4c": (512, 128, 128, 256, 24, 64, 64),
    "4d": (512, 112, 144, 288, 32, 64, 64),
    "4e": (528, 256, 160, 320, 32, 128, 128),
    "5a": (832, 256, 160, 320, 32, 128, 128),
    "5b": (832, 384, 192, 384, 48, 128, 128),
}


class GoogLeNet(nn.Module):
    """GoogLeNet. In training with aux_logits the result is GoogLeNetOutputs(logits, aux_logits2, aux_logits1).

    Shape: (N, 3, H, W), H and W from 15 -> (N, num_classes)

    transform_input: the images are normalized by ImageNet's statistics and go to the network in [-1, 1].
    """

    def __init__(
        self,
        num_classes=1000,
        aux_logits=True,
        transform_input=False,
        init_weights=None,
        blocks=None,
        dropout=0.2,
        dropout_aux=0.7,
    ):
        super().__init__()
        blocks = [BasicConv2d, Inception, InceptionAux] if blocks is None else blocks
        if init_weights is None:
            _warn_of_init("GoogleNet")
            init_weights = True
        if len(blocks) != 3:
            raise ValueError(f"blocks length should be 3 instead of {len(blocks)}")
        conv, inception, aux = blocks
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self.conv1 = conv(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = conv(64, 64, kernel_size=1)
        self.conv3 = conv(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        for name, channels in _INCEPTIONS.items():
            setattr(self, f"inception{name}", inception(*channels))
            if name == "3b":
                self.maxpool3 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
            elif name == "4e":
                self.maxpool4 = nn.MaxPool2d(2, stride=2, ceil_mode=True)
        self.aux1 = aux(512, num_classes, dropout=dropout_aux) if aux_logits else None
        self.aux2 = aux(528, num_classes, dropout=dropout_aux) if aux_logits else None
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(1024, num_classes)
        if init_weights:
            initialize(self, 0.01)

    def forward(self, x):
        if self.transform_input:
            x = from_imagenet_range(x)
        x = self.maxpool1(self.conv1(x))
        x = self.maxpool2(self.conv3(self.conv2(x)))
        x = self.maxpool3(self.inception3b(self.inception3a(x)))
        x = self.inception4a(x)
        aux1 = self.aux1(x) if self.aux1 is not None and self.training else None
        x = self.inception4d(self.inception4c(self.inception4b(x)))
        aux2 = self.aux2(x) if self.aux2 is not None and self.training else None
        x = self.maxpool4(self.inception4e(x))
        x = self.avgpool(self.inception5b(self.inception5a(x)))
        x = self.fc(self.dropout(torch.flatten(x, 1)))
        return GoogLeNetOutputs(x, aux2, aux1) if self.training and self.aux_logits else x


def _warn_of_init(name):
    warnings.warn(
        f"The default weight initialization of {name} will be changed in future releases of torchvision. If you wish to "
        "keep the old behavior (which leads to long initialization times due to scipy/scipy#11299), please set "
        "init_weights=True.",
        FutureWarning,
        stacklevel=4,
    )


def initialize(model, std):
    """Weights from a normal distribution cut off at -2 and 2, of each module's `stddev` or `std`; norms start as 1."""
    for m in model.modules():
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            nn.init.trunc_normal_(m.weight, mean=0.0, std=float(getattr(m, "stddev", std)), a=-2, b=2)
        elif isinstance(m, nn.BatchNorm2d):
            nn.init.ones_(m.weight)
            nn.init.zeros_(m.bias)


def from_imagenet_range(x):
    """Images (N, 3, H, W) normalized with ImageNet's mean and deviation, as images in [-1, 1]."""
    statistics = ((0.229, 0.485), (0.224, 0.456), (0.225, 0.406))
    channels = [
        torch.unsqueeze(x[:, i], 1) * (std / 0.5) + (mean - 0.5) / 0.5 for i, (std, mean) in enumerate(statistics)
    ]
    return torch.cat(channels, 1)


def take_published(weights, options):
    """The options under which the published weights of the Inception family load."""
    options.setdefault("transform_input", True)
    set_option(options, "aux_logits", True)
    set_option(options, "init_weights", False)


def _prepare(weights, options):
    options.pop("aux_logits", None)
    take_published(weights, options)


def _finish(model, options):
    if options.get("aux_logits", False):
        warnings.warn(
            "auxiliary heads in the pretrained googlenet model are NOT pretrained, so make sure to train them",
            stacklevel=3,
        )
    else:
        model.aux_logits = False
        model.aux1 = None
        model.aux2 = None


GoogLeNet_Weights = weights_enum("GoogLeNet_Weights", __name__)


@builder(GoogLeNet_Weights, prepare=_prepare, finish=_finish)
def googlenet(**kwargs):
    """GoogLeNet."""
    return GoogLeNet(**kwargs)
