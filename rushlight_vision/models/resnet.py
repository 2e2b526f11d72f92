"""Residual networks: ResNet (He et al., arXiv 1512.03385), ResNeXt (1611.05431) and wide ResNet (1605.07146).

The stride of a bottleneck is in its 3x3 convolution, as in torchvision ("ResNet V1.5").
"""

import rushlight as torch
from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, set_option, weights_enum

__all__ = [
    "ResNeXt50_32X4D_Weights",
    "ResNeXt101_32X8D_Weights",
    "ResNeXt101_64X4D_Weights",
    "ResNet",
    "ResNet18_Weights",
    "ResNet34_Weights",
    "ResNet50_Weights",
    "ResNet101_Weights",
    "ResNet152_Weights",
    "Wide_ResNet50_2_Weights",
    "Wide_ResNet101_2_Weights",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "resnext50_32x4d",
    "resnext101_32x8d",
    "resnext101_64x4d",
    "wide_resnet50_2",
    "wide_resnet101_2",
]


def conv3x3(in_planes, out_planes, stride=1, groups=1, dilation=1):
    """A 3x3 convolution that keeps the size up to its stride."""
    return nn.Conv2d(in_planes, out_planes, 3, stride, padding=dilation, groups=groups, bias=False, dilation=dilation)


def conv1x1(in_planes, out_planes, stride=1):
    """A 1x1 convolution."""
    return nn.Conv2d(in_planes, out_planes, 1, stride, bias=False)


class BasicBlock(nn.Module):
    """relu(bn2(conv2(relu(bn1(conv1(x))))) + shortcut(x)), both convolutions 3x3."""

    expansion = 1

    def __init__(
        self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1, norm_layer=None
    ):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions, each with a norm, around a shortcut; the last widens four times."""

    expansion = 4

    def __init__(
        self, inplanes, planes, stride=1, downsample=None, groups=1, base_width=64, dilation=1, norm_layer=None
    ):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm_layer(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm_layer(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    """A residual network of four stages of `layers` blocks.

    Shape: (N, 3, H, W) -> (N, num_classes)

    zero_init_residual starts each block as the identity. replace_stride_with_dilation: for each of the last three
    stages whether it dilates in place of its stride.
    """

    def __init__(
        self,
        block,
        layers,
        num_classes=1000,
        zero_init_residual=False,
        groups=1,
        width_per_group=64,
        replace_stride_with_dilation=None,
        norm_layer=None,
    ):
        super().__init__()
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes = 64
        self.dilation = 1
        dilate = [False] * 3 if replace_stride_with_dilation is None else replace_stride_with_dilation
        if len(dilate) != 3:
            raise ValueError(f"replace_stride_with_dilation should be None or a 3-element tuple, got {dilate}")
        self.groups = groups
        self.base_width = width_per_group
        self.conv1 = nn.Conv2d(3, self.inplanes, kernel_size=7, stride=2, padding=3, bias=False)
        self.bn1 = self._norm_layer(self.inplanes)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, layers[0])
        self.layer2 = self._make_layer(block, 128, layers[1], stride=2, dilate=dilate[0])
        self.layer3 = self._make_layer(block, 256, layers[2], stride=2, dilate=dilate[1])
        self.layer4 = self._make_layer(block, 512, layers[3], stride=2, dilate=dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, num_classes)
        self._initialize(zero_init_residual)

    def _initialize(self, zero_init_residual):
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)
        for m in self.modules() if zero_init_residual else ():
            last = getattr(m, {BasicBlock: "bn2", Bottleneck: "bn3"}.get(type(m), ""), None)
            if last is not None and last.weight is not None:
                nn.init.zeros_(last.weight)

    def _make_layer(self, block, planes, blocks, stride=1, dilate=False):
        first_dilation = self.dilation
        if dilate:
            self.dilation *= stride
            stride = 1
        width = planes * block.expansion
        downsample = None
        if stride != 1 or self.inplanes != width:
            downsample = nn.Sequential(conv1x1(self.inplanes, width, stride), self._norm_layer(width))
        common = (self.groups, self.base_width)
        stage = [block(self.inplanes, planes, stride, downsample, *common, first_dilation, self._norm_layer)]
        self.inplanes = width
        for _ in range(1, blocks):
            stage.append(block(width, planes, 1, None, *common, self.dilation, self._norm_layer))
        return nn.Sequential(*stage)

    def _forward_impl(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))

    def forward(self, x: Tensor) -> Tensor:
        return self._forward_impl(x)


ResNet18_Weights = weights_enum("ResNet18_Weights", __name__)
ResNet34_Weights = weights_enum("ResNet34_Weights", __name__)
ResNet50_Weights = weights_enum("ResNet50_Weights", __name__)
ResNet101_Weights = weights_enum("ResNet101_Weights", __name__)
ResNet152_Weights = weights_enum("ResNet152_Weights", __name__)
ResNeXt50_32X4D_Weights = weights_enum("ResNeXt50_32X4D_Weights", __name__)
ResNeXt101_32X8D_Weights = weights_enum("ResNeXt101_32X8D_Weights", __name__)
ResNeXt101_64X4D_Weights = weights_enum("ResNeXt101_64X4D_Weights", __name__)
Wide_ResNet50_2_Weights = weights_enum("Wide_ResNet50_2_Weights", __name__)
Wide_ResNet101_2_Weights = weights_enum("Wide_ResNet101_2_Weights", __name__)


def _resnet(block, layers, options, **fixed):
    for name, value in fixed.items():
        set_option(options, name, value)
    return ResNet(block, layers, **options)


@builder(ResNet18_Weights)
def resnet18(**kwargs):
    """ResNet-18."""
    return _resnet(BasicBlock, [2, 2, 2, 2], kwargs)


@builder(ResNet34_Weights)
def resnet34(**kwargs):
    """ResNet-34."""
    return _resnet(BasicBlock, [3, 4, 6, 3], kwargs)


@builder(ResNet50_Weights)
def resnet50(**kwargs):
    """ResNet-50."""
    return _resnet(Bottleneck, [3, 4, 6, 3], kwargs)


@builder(ResNet101_Weights)
def resnet101(**kwargs):
    """ResNet-101."""
    return _resnet(Bottleneck, [3, 4, 23, 3], kwargs)


@builder(ResNet152_Weights)
def resnet152(**kwargs):
    """ResNet-152."""
    return _resnet(Bottleneck, [3, 8, 36, 3], kwargs)


@builder(ResNeXt50_32X4D_Weights)
def resnext50_32x4d(**kwargs):
    """ResNeXt-50 of 32 groups, 4 wide."""
    return _resnet(Bottleneck, [3, 4, 6, 3], kwargs, groups=32, width_per_group=4)


@builder(ResNeXt101_32X8D_Weights)
def resnext101_32x8d(**kwargs):
    """ResNeXt-101 of 32 groups, 8 wide."""
    return _resnet(Bottleneck, [3, 4, 23, 3], kwargs, groups=32, width_per_group=8)


@builder(ResNeXt101_64X4D_Weights)
def resnext101_64x4d(**kwargs):
    """ResNeXt-101 of 64 groups, 4 wide."""
    return _resnet(Bottleneck, [3, 4, 23, 3], kwargs, groups=64, width_per_group=4)


@builder(Wide_ResNet50_2_Weights)
def wide_resnet50_2(**kwargs):
    """ResNet-50 with bottlenecks twice as wide."""
    return _resnet(Bottleneck, [3, 4, 6, 3], kwargs, width_per_group=128)


@builder(Wide_ResNet101_2_Weights)
def wide_resnet101_2(**kwargs):
    """ResNet-101 with bottlenecks twice as wide."""
    return _resnet(Bottleneck, [3, 4, 23, 3], kwargs, width_per_group=128)
