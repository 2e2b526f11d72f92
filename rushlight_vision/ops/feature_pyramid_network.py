"""Feature pyramids (Lin et al., arXiv 1612.03144) and the pooler that takes each box from the level of its size."""

import math
from collections import OrderedDict

import rushlight as torch
from rushlight import int64, nn
from rushlight.nn import functional as F
from rushlight_vision.ops.boxes import box_area
from rushlight_vision.ops.layers import Conv2dNormActivation
from rushlight_vision.ops.roi import as_rois, roi_align

__all__ = [
    "ExtraFPNBlock",
    "FeaturePyramidNetwork",
    "LastLevelMaxPool",
    "LastLevelP6P7",
    "MultiScaleRoIAlign",
]


class ExtraFPNBlock(nn.Module):
    """Base of what adds levels to a pyramid: (results, inputs, names) -> (results, names)."""

    def forward(self, results, x, names):
        raise NotImplementedError


class FeaturePyramidNetwork(nn.Module):
    """Maps of several sizes, from fine to coarse, each joined with the coarser ones.

    Shape: {name: (N, in_channels_list[i], H_i, W_i)} -> {name: (N, out_channels, H_i, W_i)}

    >>> maps = {"fine": ones(1, 3, 8, 8), "coarse": ones(1, 6, 4, 4)}
    >>> {name: m.shape for name, m in FeaturePyramidNetwork([3, 6], 5)(maps).items()}
    {'fine': torch.Size([1, 5, 8, 8]), 'coarse': torch.Size([1, 5, 4, 4])}
    """

    _version = 2

    def __init__(self, in_channels_list, out_channels, extra_blocks=None, norm_layer=None):
        super().__init__()
        self.inner_blocks = nn.ModuleList()
        self.layer_blocks = nn.ModuleList()
        style = {"norm_layer": norm_layer, "activation_layer": None}
        for channels in in_channels_list:
            if channels == 0:
                raise ValueError("in_channels=0 is currently not supported")
            self.inner_blocks.append(Conv2dNormActivation(channels, out_channels, 1, padding=0, **style))
            self.layer_blocks.append(Conv2dNormActivation(out_channels, out_channels, 3, **style))
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_uniform_(m.weight, a=1)
                if m.bias is not None:
                    nn.init.zeros_(m.bias)
        if extra_blocks is not None and not isinstance(extra_blocks, ExtraFPNBlock):
            raise TypeError(f"extra_blocks should be of type ExtraFPNBlock not {type(extra_blocks)}")
        self.extra_blocks = extra_blocks

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        """Also files of version 1, whose blocks were the convolutions themselves."""
        if local_metadata.get("version", 1) < 2:
            for name in ("inner_blocks", "layer_blocks"):
                for i in range(len(self.inner_blocks)):
                    for kind in ("weight", "bias"):
                        older = f"{prefix}{name}.{i}.{kind}"
                        if older in state_dict:
                            state_dict[f"{prefix}{name}.{i}.0.{kind}"] = state_dict.pop(older)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def forward(self, x):
        names, maps = list(x.keys()), list(x.values())
        coarse = self.inner_blocks[len(maps) - 1](maps[-1])
        results = [self.layer_blocks[len(maps) - 1](coarse)]
        for i in range(len(maps) - 2, -1, -1):
            lateral = self.inner_blocks[i](maps[i])
            coarse = lateral + F.interpolate(coarse, size=lateral.shape[-2:], mode="nearest")
            results.insert(0, self.layer_blocks[i](coarse))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, maps, names)
        return OrderedDict(zip(names, results))


class LastLevelMaxPool(ExtraFPNBlock):
    """Adds 'pool', every other pixel of the coarsest level."""

    def forward(self, x, y, names):
        return [*x, F.max_pool2d(x[-1], kernel_size=1, stride=2, padding=0)], [*names, "pool"]


class LastLevelP6P7(ExtraFPNBlock):
    """Adds 'p6' and 'p7', two convolutions of stride 2, for RetinaNet."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        for module in (self.p6, self.p7):
            nn.init.kaiming_uniform_(module.weight, a=1)
            nn.init.zeros_(module.bias)
        self.use_P5 = in_channels == out_channels

    def forward(self, p, c, names):
        p6 = self.p6(p[-1] if self.use_P5 else c[-1])
        return [*p, p6, self.p7(F.relu(p6))], [*names, "p6", "p7"]


class MultiScaleRoIAlign(nn.Module):
    """`roi_align` of each box on the level of a pyramid that fits its size.

    featmap_names: levels to use. A box of `canonical_scale` pixels squared goes to `canonical_level` (level k has a
    stride of 2^k).

    Shape: {name: (N, C, H_i, W_i)}, boxes a list of (L, 4), image sizes -> (K, C, output_size, output_size)

    >>> maps = {"0": ones(1, 3, 8, 8)}
    >>> MultiScaleRoIAlign(["0"], 2, 2)(maps, [tensor([[0.0, 0.0, 4.0, 4.0]])], [(16, 16)]).shape
    torch.Size([1, 3, 2, 2])
    """

    def __init__(self, featmap_names, output_size, sampling_ratio, *, canonical_scale=224, canonical_level=4):
        super().__init__()
        self.featmap_names = featmap_names
        self.sampling_ratio = sampling_ratio
        self.output_size = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
        self.scales = None
        self.canonical_scale = canonical_scale
        self.canonical_level = canonical_level

    def forward(self, x, boxes, image_shapes):
        """{name: (N, C, H, W)}, a list of boxes (L, 4) of each image, sizes of the images -> (sum L, C, P, Q)."""
        maps = [value for name, value in x.items() if name in self.featmap_names]
        if self.scales is None:
            self.scales = _scales(maps, image_shapes)
        rois = as_rois(boxes)
        options = {"output_size": self.output_size, "sampling_ratio": self.sampling_ratio}
        if len(maps) == 1:
            return roi_align(maps[0], rois, spatial_scale=self.scales[0], **options)
        levels = self._levels(boxes, self.scales)
        result = maps[0].new_zeros((rois.shape[0], maps[0].shape[1], *self.output_size))
        for level, (features, scale) in enumerate(zip(maps, self.scales)):
            chosen = torch.where(levels == level)[0]
            result[chosen] = roi_align(features, rois[chosen], spatial_scale=scale, **options)
        return result

    def _levels(self, boxes, scales):
        finest, coarsest = (int(-math.log2(scales[i])) for i in (0, -1))
        side = torch.sqrt(torch.cat([box_area(b) for b in boxes]))
        levels = torch.floor(self.canonical_level + torch.log2(side / self.canonical_scale) + 1e-6)
        return levels.clamp(min=finest, max=coarsest).to(int64) - finest

    def __repr__(self):
        return (
            f"{type(self).__name__}(featmap_names={self.featmap_names}, output_size={self.output_size}, "
            f"sampling_ratio={self.sampling_ratio})"
        )


def _scales(maps, image_shapes):
    """Each level's size against the images', as powers of 2."""
    if not image_shapes:
        raise ValueError("images list should not be empty")
    height = max(shape[0] for shape in image_shapes)
    return [2.0 ** round(math.log2(features.shape[-2] / height)) for features in maps]
