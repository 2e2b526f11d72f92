"""MNASNet (Tan et al., arXiv 1807.11626)."""

import warnings

from rushlight import Tensor, nn
from rushlight_vision.models._api import builder, weights_enum
from rushlight_vision.models._utils import _make_divisible

__all__ = [
    "MNASNet",
    "MNASNet0_5_Weights",
    "MNASNet0_75_Weights",
    "MNASNet1_0_Weights",
    "MNASNet1_3_Weights",
    "mnasnet0_5",
    "mnasnet0_75",
    "mnasnet1_0",
    "mnasnet1_3",
]

_BN_MOMENTUM = 1 - 0.9997  # torch's momentum is the share of the new; the paper's 0.9997 that of the old


def _conv(channels_in, channels_out, kernel_size=1, stride=1, groups=1):
    return nn.Conv2d(
        channels_in, channels_out, kernel_size, stride, padding=kernel_size // 2, groups=groups, bias=False
    )


def _norm(channels, momentum=_BN_MOMENTUM):
    return nn.BatchNorm2d(channels, momentum=momentum)


class _InvertedResidual(nn.Module):
    def __init__(self, in_ch, out_ch, kernel_size, stride, expansion_factor, bn_momentum=0.1):
        super().__init__()
        if stride not in [1, 2]:
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        if kernel_size not in [3, 5]:
            raise ValueError(f"kernel_size should be 3 or 5 instead of {kernel_size}")
        wide = in_ch * expansion_factor
        self.apply_residual = in_ch == out_ch and stride == 1
        self.layers = nn.Sequential(
            _conv(in_ch, wide),
            _norm(wide, bn_momentum),
            nn.ReLU(inplace=True),
            _conv(wide, wide, kernel_size, stride, groups=wide),
            _norm(wide, bn_momentum),
            nn.ReLU(inplace=True),
            _conv(wide, out_ch),
            _norm(out_ch, bn_momentum),
        )

    def forward(self, input):
        return self.layers(input) + input if self.apply_residual else self.layers(input)


def _stage(in_ch, out_ch, kernel_size, stride, expansion, repeats):
    first = _InvertedResidual(in_ch, out_ch, kernel_size, stride, expansion, _BN_MOMENTUM)
    rest = (_InvertedResidual(out_ch, out_ch, kernel_size, 1, expansion, _BN_MOMENTUM) for _ in range(1, repeats))
    return nn.Sequential(first, *rest)


def _stem(wide, narrow):
    return [
        _conv(3, wide, 3, 2),
        _norm(wide),
        nn.ReLU(inplace=True),
        _conv(wide, wide, 3, groups=wide),
        _norm(wide),
        nn.ReLU(inplace=True),
        _conv(wide, narrow),
        _norm(narrow),
    ]


def _widths(alpha):
    return [_make_divisible(depth * alpha, 8) for depth in (32, 16, 24, 40, 80, 96, 192, 320)]


# kernel, stride, expansion, blocks
_STAGES = [(3, 2, 3, 3), (5, 2, 3, 3), (5, 2, 6, 3), (3, 1, 6, 2), (5, 2, 6, 4), (3, 1, 6, 1)]


class MNASNet(nn.Module):
    """MNASNet-B1, its channels times `alpha`.

    Shape: (N, 3, H, W) -> (N, num_classes)
    """

    _version = 2

    def __init__(self, alpha, num_classes=1000, dropout=0.2):
        super().__init__()
        if alpha <= 0.0:
            raise ValueError(f"alpha should be greater than 0.0 instead of {alpha}")
        self.alpha = alpha
        self.num_classes = num_classes
        first, *widths = _widths(alpha)
        stages = [
            _stage(before, after, *step) for before, after, step in zip(widths[:-1], widths[1:], _STAGES, strict=True)
        ]
        tail = [_conv(widths[-1], 1280), _norm(1280), nn.ReLU(inplace=True)]
        self.layers = nn.Sequential(*_stem(first, widths[0]), *stages, *tail)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout, inplace=True), nn.Linear(1280, num_classes))
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)
            elif isinstance(m, nn.Linear):
                nn.init.kaiming_uniform_(m.weight, mode="fan_out", nonlinearity="sigmoid")
                nn.init.zeros_(m.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.layers(x).mean([2, 3]))

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        """Files of version 1 did not scale the stem; the model is changed to theirs."""
        version = local_metadata.get("version", None)
        if version not in [1, 2]:
            raise ValueError(f"version should be set to 1 or 2 instead of {version}")
        if version == 1 and self.alpha != 1.0:
            older = [*_stem(32, 16), _stage(16, _widths(self.alpha)[2], *_STAGES[0])]
            for index, layer in enumerate(older):
                self.layers[index] = layer
            self._version = 1
            warnings.warn(
                "A new version of MNASNet model has been implemented. Your checkpoint was saved using the previous "
                "version. This checkpoint will load and work as before, but you may want to upgrade by training a "
                "newer model or transfer learning from an updated ImageNet checkpoint.",
                UserWarning,
                stacklevel=2,
            )
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


MNASNet0_5_Weights = weights_enum("MNASNet0_5_Weights", __name__)
MNASNet0_75_Weights = weights_enum("MNASNet0_75_Weights", __name__)
MNASNet1_0_Weights = weights_enum("MNASNet1_0_Weights", __name__)
MNASNet1_3_Weights = weights_enum("MNASNet1_3_Weights", __name__)


@builder(MNASNet0_5_Weights)
def mnasnet0_5(**kwargs):
    """MNASNet with half the channels."""
    return MNASNet(0.5, **kwargs)


@builder(MNASNet0_75_Weights)
def mnasnet0_75(**kwargs):
    """MNASNet with three quarters of the channels."""
    return MNASNet(0.75, **kwargs)


@builder(MNASNet1_0_Weights)
def mnasnet1_0(**kwargs):
    """MNASNet."""
    return MNASNet(1.0, **kwargs)


@builder(MNASNet1_3_Weights)
def mnasnet1_3(**kwargs):
    """MNASNet with 1.3 times the channels."""
    return MNASNet(1.3, **kwargs)
