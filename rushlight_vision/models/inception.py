"""Inception v3 (Szegedy et al., arXiv 1512.00567), for images of 299x299."""

from collections import namedtuple

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F
from rushlight_vision.models._api import builder, weights_enum
from rushlight_vision.models.googlenet import (
    BasicConv2d,
    _warn_of_init,
    from_imagenet_range,
    initialize,
    take_published,
)

__all__ = ["Inception3", "InceptionOutputs", "Inception_V3_Weights", "_InceptionOutputs", "inception_v3"]

InceptionOutputs = namedtuple("InceptionOutputs", ["logits", "aux_logits"])
_InceptionOutputs = InceptionOutputs


def _pooled(x):
    return F.avg_pool2d(x, kernel_size=3, stride=1, padding=1)


class InceptionA(nn.Module):
    """Branches 1x1, 5x5, two 3x3 and a pool."""

    def __init__(self, in_channels, pool_features, conv_block=None):
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch1x1 = conv(in_channels, 64, kernel_size=1)
        self.branch5x5_1 = conv(in_channels, 48, kernel_size=1)
        self.branch5x5_2 = conv(48, 64, kernel_size=5, padding=2)
        self.branch3x3dbl_1 = conv(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = conv(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = conv(96, 96, kernel_size=3, padding=1)
        self.branch_pool = conv(in_channels, pool_features, kernel_size=1)

    def forward(self, x):
        five = self.branch5x5_2(self.branch5x5_1(x))
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return torch.cat([self.branch1x1(x), five, double, self.branch_pool(_pooled(x))], 1)


class InceptionB(nn.Module):
    """Half the size: branches 3x3, two 3x3 and a pool."""

    def __init__(self, in_channels, conv_block=None):
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch3x3 = conv(in_channels, 384, kernel_size=3, stride=2)
        self.branch3x3dbl_1 = conv(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = conv(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = conv(96, 96, kernel_size=3, stride=2)

    def forward(self, x):
        double = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return torch.cat([self.branch3x3(x), double, F.max_pool2d(x, kernel_size=3, stride=2)], 1)


class InceptionC(nn.Module):
    """Branches 1x1, 7x7, two 7x7 and a pool, each 7x7 as a row and a column."""

    def __init__(self, in_channels, channels_7x7, conv_block=None):
        super().__init__()
        conv = conv_block or BasicConv2d
        width = channels_7x7
        row = {"kernel_size": (1, 7), "padding": (0, 3)}
        column = {"kernel_size": (7, 1), "padding": (3, 0)}
        self.branch1x1 = conv(in_channels, 192, kernel_size=1)
        self.branch7x7_1 = conv(in_channels, width, kernel_size=1)
        self.branch7x7_2 = conv(width, width, **row)
        self.branch7x7_3 = conv(width, 192, **column)
        self.branch7x7dbl_1 = conv(in_channels, width, kernel_size=1)
        self.branch7x7dbl_2 = conv(width, width, **column)
        self.branch7x7dbl_3 = conv(width, width, **row)
        self.branch7x7dbl_4 = conv(width, width, **column)
        self.branch7x7dbl_5 = conv(width, 192, **row)
        self.branch_pool = conv(in_channels, 192, kernel_size=1)

    def forward(self, x):
        seven = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        double = self.branch7x7dbl_5(self.branch7x7dbl_4(double))
        return torch.cat([self.branch1x1(x), seven, double, self.branch_pool(_pooled(x))], 1)


class InceptionD(nn.Module):
    """Half the size: branches 3x3, 7x7 then 3x3, and a pool."""

    def __init__(self, in_channels, conv_block=None):
        super().__init__()
        conv = conv_block or BasicConv2d
        self.branch3x3_1 = conv(in_channels, 192, kernel_size=1)
        self.branch3x3_2 = conv(192, 320, kernel_size=3, stride=2)
        self.branch7x7x3_1 = conv(in_channels, 192, kernel_size=1)
        self.branch7x7x3_2 = conv(192, 192, kernel_size=(1, 7), padding=(0, 3))
        self.branch7x7x3_3 = conv(192, 192, kernel_size=(7, 1), padding=(3, 0))
        self.branch7x7x3_4 = conv(192, 192, kernel_size=3, stride=2)

    def forward(self, x):
        three = self.branch3x3_2(self.branch3x3_1(x))
        seven = self.branch7x7x3_2(self.branch7x7x3_1(x))
        seven = self.branch7x7x3_4(self.branch7x7x3_3(seven))
        return torch.cat([three, seven, F.max_pool2d(x, kernel_size=3, stride=2)], 1)


class InceptionE(nn.Module):
    """Branches 1x1, 3x3, two 3x3 and a pool, the last 3x3 of each as a row and a column."""

    def __init__(self, in_channels, conv_block=None):
        super().__init__()
        conv = conv_block or BasicConv2d
        row = {"kernel_size": (1, 3), "padding": (0, 1)}
        column = {"kernel_size": (3, 1), "padding": (1, 0)}
        self.branch1x1 = conv(in_channels, 320, kernel_size=1)
        self.branch3x3_1 = conv(in_channels, 384, kernel_size=1)
        self.branch3x3_2a = conv(384, 384, **row)
        self.branch3x3_2b = conv(384, 384, **column)
        self.branch3x3dbl_1 = conv(in_channels, 448, kernel_size=1)
        self.branch3x3dbl_2 = conv(448, 384, kernel_size=3, padding=1)
        self.branch3x3dbl_3a = conv(384, 384, **row)
        self.branch3x3dbl_3b = conv(384, 384, **column)
        self.branch_pool = conv(in_channels, 192, kernel_size=1)

    def forward(self, x):
        three = self.branch3x3_1(x)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        three = torch.cat([self.branch3x3_2a(three), self.branch3x3_2b(three)], 1)
        double = torch.cat([self.branch3x3dbl_3a(double), self.branch3x3dbl_3b(double)], 1)
        return torch.cat([self.branch1x1(x), three, double, self.branch_pool(_pooled(x))], 1)


class InceptionAux(nn.Module):
    """A classifier on features of the middle, for training."""

    def __init__(self, in_channels, num_classes, conv_block=None):
        super().__init__()
        conv = conv_block or BasicConv2d
        self.conv0 = conv(in_channels, 128, kernel_size=1)
        self.conv1 = conv(128, 768, kernel_size=5)
        self.conv1.stddev = 0.01
        self.fc = nn.Linear(768, num_classes)
        self.fc.stddev = 0.001

    def forward(self, x):
        x = self.conv1(self.conv0(F.avg_pool2d(x, kernel_size=5, stride=3)))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, (1, 1)), 1))


_BLOCKS = [BasicConv2d, InceptionA, InceptionB, InceptionC, InceptionD, InceptionE, InceptionAux]


class Inception3(nn.Module):
    """Inception v3. In training with aux_logits the result is InceptionOutputs(logits, aux_logits).

    Shape: (N, 3, H, W), H and W from 75, meant for 299 -> (N, num_classes)

    transform_input: the images are normalized by ImageNet's statistics and go to the network in [-1, 1].
    """

    def __init__(
        self,
        num_classes=1000,
        aux_logits=True,
        transform_input=False,
        inception_blocks=None,
        init_weights=None,
        dropout=0.5,
    ):
        super().__init__()
        blocks = _BLOCKS if inception_blocks is None else inception_blocks
        if init_weights is None:
            _warn_of_init("inception_v3")
            init_weights = True
        if len(blocks) != 7:
            raise ValueError(f"length of inception_blocks should be 7 instead of {len(blocks)}")
        conv, a, b, c, d, e, aux = blocks
        self.aux_logits = aux_logits
        self.transform_input = transform_input
        self.Conv2d_1a_3x3 = conv(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = conv(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = conv(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Conv2d_3b_1x1 = conv(64, 80, kernel_size=1)
        self.Conv2d_4a_3x3 = conv(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Mixed_5b = a(192, pool_features=32)
        self.Mixed_5c = a(256, pool_features=64)
        self.Mixed_5d = a(288, pool_features=64)
        self.Mixed_6a = b(288)
        self.Mixed_6b = c(768, channels_7x7=128)
        self.Mixed_6c = c(768, channels_7x7=160)
        self.Mixed_6d = c(768, channels_7x7=160)
        self.Mixed_6e = c(768, channels_7x7=192)
        self.AuxLogits = aux(768, num_classes) if aux_logits else None
        self.Mixed_7a = d(768)
        self.Mixed_7b = e(1280)
        self.Mixed_7c = e(2048)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(2048, num_classes)
        if init_weights:
            initialize(self, 0.1)

    def forward(self, x):
        if self.transform_input:
            x = from_imagenet_range(x)
        x = self.maxpool1(self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x))))
        x = self.maxpool2(self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x)))
        x = self.Mixed_5d(self.Mixed_5c(self.Mixed_5b(x)))
        x = self.Mixed_6c(self.Mixed_6b(self.Mixed_6a(x)))
        x = self.Mixed_6e(self.Mixed_6d(x))
        aux = self.AuxLogits(x) if self.AuxLogits is not None and self.training else None
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        x = self.fc(torch.flatten(self.dropout(self.avgpool(x)), 1))
        return InceptionOutputs(x, aux) if self.training and self.aux_logits else x


def _prepare(weights, options):
    if "aux_logits" in options:
        options["aux_logits"] = True
    take_published(weights, options)


def _finish(model, options):
    if not options.get("aux_logits", True):
        model.aux_logits = False
        model.AuxLogits = None


Inception_V3_Weights = weights_enum("Inception_V3_Weights", __name__)


@builder(Inception_V3_Weights, prepare=_prepare, finish=_finish)
def inception_v3(**kwargs):
    """Inception v3."""
    return Inception3(**kwargs)
