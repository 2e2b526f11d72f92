"""Boxes at every place of a feature map, from which detectors start: anchors, and SSD's default boxes."""

import math

import rushlight as torch
from rushlight import float32, int32, nn
from rushlight_vision.models.detection.image_list import ImageList

__all__ = ["AnchorGenerator", "DefaultBoxGenerator", "ImageList"]


class AnchorGenerator(nn.Module):
    """Anchors of each size and shape around each place of each map (Ren et al., arXiv 1506.01497).

    sizes, aspect_ratios: for each map its sides in pixels of the image, and its heights by widths.
    """

    def __init__(self, sizes=((128, 256, 512),), aspect_ratios=((0.5, 1.0, 2.0),)):
        super().__init__()
        if not isinstance(sizes[0], (list, tuple)):
            sizes = tuple((size,) for size in sizes)
        if not isinstance(aspect_ratios[0], (list, tuple)):
            aspect_ratios = (aspect_ratios,) * len(sizes)
        self.sizes = sizes
        self.aspect_ratios = aspect_ratios
        self.cell_anchors = [self.generate_anchors(*pair) for pair in zip(sizes, aspect_ratios)]

    def generate_anchors(self, scales, aspect_ratios, dtype=float32, device="cpu"):
        """The anchors around the origin, shape by shape: (len(aspect_ratios) len(scales), 4), rounded to pixels."""
        scales = torch.as_tensor(scales, dtype=dtype, device=device)
        high = torch.sqrt(torch.as_tensor(aspect_ratios, dtype=dtype, device=device))
        wide = 1 / high
        w, h = ((ratio[:, None] * scales[None, :]).view(-1) for ratio in (wide, high))
        return (torch.stack([-w, -h, w, h], dim=1) / 2).round()

    def set_cell_anchors(self, dtype, device):
        """Brings the anchors around the origin to a dtype and device."""
        self.cell_anchors = [anchors.to(dtype=dtype, device=device) for anchors in self.cell_anchors]

    def num_anchors_per_location(self):
        """For each map how many anchors a place has."""
        return [len(sizes) * len(ratios) for sizes, ratios in zip(self.sizes, self.aspect_ratios)]

    def grid_anchors(self, grid_sizes, strides):
        """A list of the maps' anchors (H W A, 4), for their sizes (H, W) and strides (down, across) in pixels."""
        if not len(grid_sizes) == len(strides) == len(self.cell_anchors):
            raise AssertionError(
                "Anchors should be Tuple[Tuple[int]] because each feature map could potentially have different sizes "
                "and aspect ratios. There needs to be a match between the number of feature maps passed and the number "
                "of sizes / aspect ratios specified."
            )
        return [_shifted(*each) for each in zip(grid_sizes, strides, self.cell_anchors)]

    def forward(self, image_list, feature_maps):
        """An ImageList and its maps (N, C, H, W) -> for each image all anchors (K, 4)."""
        grid_sizes = [features.shape[-2:] for features in feature_maps]
        height, width = image_list.tensors.shape[-2:]
        strides = [[height // rows, width // columns] for rows, columns in grid_sizes]
        self.set_cell_anchors(feature_maps[0].dtype, feature_maps[0].device)
        levels = self.grid_anchors(grid_sizes, strides)
        return [torch.cat(levels) for _ in image_list.image_sizes]


def _shifted(size, stride, anchors):
    down, across = (torch.arange(0, n, dtype=int32, device=anchors.device) * step for n, step in zip(size, stride))
    y, x = (grid.reshape(-1) for grid in torch.meshgrid(down, across, indexing="ij"))
    shifts = torch.stack((x, y, x, y), dim=1)
    return (shifts.view(-1, 1, 4) + anchors.view(1, -1, 4)).reshape(-1, 4)


class DefaultBoxGenerator(nn.Module):
    """SSD's default boxes (Liu et al., arXiv 1512.02325): at each place two squares, and two boxes for each ratio.

    aspect_ratios: for each map widths by heights. scales: sides as parts of the image, one more than maps; by default
    evenly from min_ratio to max_ratio, then 1. steps: pixels between the places of each map, by default as they come.
    clip: sides of at most 1.
    """

    def __init__(self, aspect_ratios, min_ratio=0.15, max_ratio=0.9, scales=None, steps=None, clip=True):
        super().__init__()
        if steps is not None and len(aspect_ratios) != len(steps):
            raise ValueError("aspect_ratios and steps should have the same length")
        self.aspect_ratios = aspect_ratios
        self.steps = steps
        self.clip = clip
        self.scales = _scales(len(aspect_ratios), min_ratio, max_ratio) if scales is None else scales
        self._wh_pairs = self._generate_wh_pairs(len(aspect_ratios))

    def _generate_wh_pairs(self, num_outputs, dtype=float32, device="cpu"):
        """For each map (boxes of a place, 2): width and height."""
        found = []
        for scale, next_scale, ratios in zip(self.scales, self.scales[1:], self.aspect_ratios[:num_outputs]):
            pairs = [[scale, scale], [math.sqrt(scale * next_scale)] * 2]
            for ratio in ratios:
                w, h = scale * math.sqrt(ratio), scale / math.sqrt(ratio)
                pairs += [[w, h], [h, w]]
            found.append(torch.as_tensor(pairs, dtype=dtype, device=device))
        return found

    def num_anchors_per_location(self):
        """For each map how many boxes a place has."""
        return [2 + 2 * len(ratios) for ratios in self.aspect_ratios]

    def _grid_default_boxes(self, grid_sizes, image_size, dtype=float32):
        """All maps' boxes (K, 4) as centre and size, in parts of the image."""
        boxes = []
        for k, (rows, columns) in enumerate(grid_sizes):
            down, across = rows, columns
            if self.steps is not None:
                down, across = (side / self.steps[k] for side in image_size)
            pairs = self._wh_pairs[k].clamp(min=0, max=1) if self.clip else self._wh_pairs[k]
            x, y = ((torch.arange(0, n) + 0.5) / many for n, many in ((columns, across), (rows, down)))
            y, x = (grid.reshape(-1) for grid in torch.meshgrid(y.to(dtype=dtype), x.to(dtype=dtype), indexing="ij"))
            centres = torch.stack((x, y) * len(pairs), dim=-1).reshape(-1, 2)
            boxes.append(torch.cat((centres, pairs.repeat((rows * columns), 1)), dim=1))
        return torch.cat(boxes, dim=0)

    def __repr__(self):
        return (
            f"{type(self).__name__}(aspect_ratios={self.aspect_ratios}, clip={self.clip}, scales={self.scales}, "
            f"steps={self.steps})"
        )

    def forward(self, image_list, feature_maps):
        """An ImageList and its maps (N, C, H, W) -> for each image all boxes (K, 4), corners in pixels."""
        height, width = image_list.tensors.shape[-2:]
        grid_sizes = [features.shape[-2:] for features in feature_maps]
        boxes = self._grid_default_boxes(grid_sizes, (height, width), dtype=feature_maps[0].dtype)
        boxes = boxes.to(feature_maps[0].device)
        sides = torch.tensor([width, height], device=boxes.device)
        centres, sizes = boxes[:, :2], boxes[:, 2:]
        corners = torch.cat([(centres - 0.5 * sizes) * sides, (centres + 0.5 * sizes) * sides], -1)
        return [corners.clone() for _ in image_list.image_sizes]


def _scales(count, least, most):
    if count == 1:
        return [least, most]
    return [least + (most - least) * k / (count - 1.0) for k in range(count)] + [1.0]
