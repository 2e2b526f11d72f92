"""Transforms that turn, shear or tilt the image."""

from typing import Any

from rushlight import nn
from rushlight_vision.transforms import draw
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms.arguments import angle_range, check_length, fill_for, fill_value
from rushlight_vision.transforms.interpolation import InterpolationMode, as_mode


class RandomRotation(nn.Module):
    """The image turned by an angle uniform in `degrees`, (min, max) or d for (-d, d); see `functional.rotate`.

    Shape: (*, C, H, W) -> the same, or larger with `expand`
    Raises:
        ValueError: `degrees` is negative, as in `RandomRotation(-1)`.

    >>> RandomRotation(10)(ones(3, 4, 4)).shape
    torch.Size([3, 4, 4])
    """

    def __init__(self, degrees, interpolation=InterpolationMode.NEAREST, expand=False, center=None, fill: Any = 0):
        super().__init__()
        self.degrees = angle_range(degrees, "degrees")
        if center is not None:
            check_length(center, "center", (2,))
        self.center = center
        self.interpolation = as_mode(interpolation)
        self.expand = expand
        self.fill = fill_value(fill)

    @staticmethod
    def get_params(degrees):
        """A random angle."""
        return draw.uniform(float(degrees[0]), float(degrees[1]))

    def forward(self, img):
        angle = self.get_params(self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, fill_for(img, self.fill))

    def __repr__(self):
        center = "" if self.center is None else f", center={self.center}"
        return (
            f"{type(self).__name__}(degrees={self.degrees}, interpolation={self.interpolation.value}, "
            f"expand={self.expand}{center}, fill={self.fill})"
        )


class RandomAffine(nn.Module):
    """The image turned, moved, scaled and sheared at random; see `functional.affine`.

    degrees: as RandomRotation's. translate: largest shift (x, y) as shares of width and height. scale: (min, max).
    shear: degrees, a number or (min, max) for x, or (min x, max x, min y, max y). None leaves that part out.

    Shape: (*, C, H, W) -> the same
    Raises:
        ValueError: `degrees` is negative, as in `RandomAffine(-1)`.
        ValueError: a shift is outside [0, 1], as in `RandomAffine(0, translate=(2.0, 0.0))`.

    >>> RandomAffine(10)(ones(3, 4, 4)).shape
    torch.Size([3, 4, 4])
    """

    def __init__(
        self,
        degrees,
        translate=None,
        scale=None,
        shear=None,
        interpolation=InterpolationMode.NEAREST,
        fill: Any = 0,
        center=None,
    ):
        super().__init__()
        self.degrees = angle_range(degrees, "degrees")
        if translate is not None:
            check_length(translate, "translate", (2,))
            if not all(0.0 <= t <= 1.0 for t in translate):
                raise ValueError("translation values should be between 0 and 1")
        self.translate = translate
        if scale is not None:
            check_length(scale, "scale", (2,))
            if not all(s > 0 for s in scale):
                raise ValueError("scale values should be positive")
        self.scale = scale
        self.shear = None if shear is None else angle_range(shear, "shear", (2, 4))
        self.interpolation = as_mode(interpolation)
        self.fill = fill_value(fill)
        if center is not None:
            check_length(center, "center", (2,))
        self.center = center

    @staticmethod
    def get_params(degrees, translate, scale_ranges, shears, img_size):
        """(angle, (x, y) shift in pixels, scale, (x, y) shear) at random, for an image of size (width, height)."""
        angle = draw.uniform(float(degrees[0]), float(degrees[1]))
        shift = (0, 0)
        if translate is not None:
            furthest = [float(share * size) for share, size in zip(translate, img_size, strict=True)]
            shift = tuple(round(draw.uniform(-far, far)) for far in furthest)
        scale = 1.0 if scale_ranges is None else draw.uniform(*scale_ranges)
        shear = [0.0, 0.0]
        if shears is not None:
            shear[0] = draw.uniform(shears[0], shears[1])
            if len(shears) == 4:
                shear[1] = draw.uniform(shears[2], shears[3])
        return angle, shift, scale, tuple(shear)

    def forward(self, img):
        size = F.get_image_size(img)
        params = self.get_params(self.degrees, self.translate, self.scale, self.shear, size)
        fill = fill_for(img, self.fill)
        return F.affine(img, *params, interpolation=self.interpolation, fill=fill, center=self.center)

    def __repr__(self):
        parts = [f"degrees={self.degrees}"]
        parts += [f"{n}={v}" for n in ("translate", "scale", "shear") if (v := getattr(self, n)) is not None]
        if self.interpolation is not InterpolationMode.NEAREST:
            parts.append(f"interpolation={self.interpolation.value}")
        if self.fill != 0:
            parts.append(f"fill={self.fill}")
        if self.center is not None:
            parts.append(f"center={self.center}")
        return f"{type(self).__name__}({', '.join(parts)})"


class RandomPerspective(nn.Module):
    """With probability `p`, the image with each corner moved inwards by up to `distortion_scale` of half its size.

    Shape: (*, C, H, W) -> the same

    >>> RandomPerspective(p=1.0)(ones(3, 8, 8)).shape
    torch.Size([3, 8, 8])
    """

    def __init__(self, distortion_scale=0.5, p=0.5, interpolation=InterpolationMode.BILINEAR, fill: Any = 0):
        super().__init__()
        self.p = p
        self.interpolation = as_mode(interpolation)
        self.distortion_scale = distortion_scale
        self.fill = fill_value(fill)

    @staticmethod
    def get_params(width, height, distortion_scale):
        """(the corners, where they are mapped to): top left, top right, bottom right, bottom left, each [x, y]."""
        inward = int(distortion_scale * (width // 2)), int(distortion_scale * (height // 2))

        def near_start(axis):
            return draw.integer(0, inward[axis] + 1)

        def near_end(axis):
            size = (width, height)[axis]
            return draw.integer(size - inward[axis] - 1, size)

        moved = [
            [near_start(0), near_start(1)],
            [near_end(0), near_start(1)],
            [near_end(0), near_end(1)],
            [near_start(0), near_end(1)],
        ]
        return [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]], moved

    def forward(self, img):
        if not draw.chance(self.p):
            return img
        width, height = F.get_image_size(img)
        corners = self.get_params(width, height, self.distortion_scale)
        return F.perspective(img, *corners, self.interpolation, fill_for(img, self.fill))

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p})"
