"""Transforms of a tensor's values: Normalize, ConvertImageDtype, RandomErasing, LinearTransformation."""

import numbers
from collections.abc import Sequence

import rushlight as torch
from rushlight import float32, nn
from rushlight_vision.transforms import draw
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms.arguments import check_scale_and_ratio


class Normalize(nn.Module):
    """(tensor - mean) / std, channel by channel, of a float tensor (..., C, H, W).

    Shape: (*, C, H, W) -> the same
    Raises:
        TypeError: the tensor is of integers, as in `Normalize([0.5], [0.5])(tensor([[[1]]]))`.

    >>> Normalize([0.5], [0.5])(tensor([[[0.0, 1.0]]]))
    tensor([[[-1.,  1.]]])
    """

    def __init__(self, mean, std, inplace=False):
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def forward(self, tensor):
        return F.normalize(tensor, self.mean, self.std, self.inplace)

    def __repr__(self):
        return f"{type(self).__name__}(mean={self.mean}, std={self.std})"


class ConvertImageDtype(nn.Module):
    """The tensor in another dtype, its values scaled; see `functional.convert_image_dtype`.

    Shape: (*) -> the same
    Raises:
        RuntimeError: the values would overflow, as in `ConvertImageDtype(int64)(ones(1, 2, 2))`.

    >>> ConvertImageDtype(float32)(tensor([0, 255], dtype=uint8))
    tensor([0., 1.])
    """

    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def forward(self, image):
        return F.convert_image_dtype(image, self.dtype)


class RandomErasing(nn.Module):
    """With probability `p`, a random rectangle of a tensor (..., C, H, W) overwritten (Zhong et al., arXiv 1708.04896).

    scale: range of its share of the area. ratio: range of its aspect, height over width. value: a number, one per
    channel, or 'random' for normal noise.

    Shape: (*, C, H, W) -> the same
    Raises:
        ValueError: `p` is outside [0, 1], as in `RandomErasing(2.0)`.
        ValueError: the share is outside [0, 1], as in `RandomErasing(scale=(0.0, 2.0))`.

    >>> RandomErasing(0.0)(ones(1, 1, 2))
    tensor([[[1., 1.]]])
    """

    def __init__(
        self, p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value: float | str | Sequence[float] = 0, inplace=False
    ):
        super().__init__()
        if not isinstance(value, (numbers.Number, str, tuple, list)):
            raise TypeError("Argument value should be either a number or str or a sequence")
        if isinstance(value, str) and value != "random":
            raise ValueError("If value is str, it should be 'random'")
        check_scale_and_ratio(scale, ratio)
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError("Scale should be between 0 and 1")
        if p < 0 or p > 1:
            raise ValueError("Random erasing probability should be between 0 and 1")
        self.p = p
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    @staticmethod
    def get_params(img, scale, ratio, value=None):
        """(top, left, height, width, values) of a random rectangle; the whole image itself if ten do not fit."""
        channels, height, width = img.shape[-3:]
        for h, w in draw.sides(height * width, scale, ratio):
            if h < height and w < width:
                if value is None:
                    values = torch.empty([channels, h, w], dtype=float32).normal_()
                else:
                    values = torch.tensor(value)[:, None, None]
                top = draw.integer(0, height - h + 1)
                left = draw.integer(0, width - w + 1)
                return top, left, h, w, values
        return 0, 0, height, width, img

    def forward(self, img):
        if not draw.chance(self.p):
            return img
        value = self.value
        if isinstance(value, str):
            value = None
        else:
            value = [float(v) for v in ([value] if isinstance(value, numbers.Number) else value)]
            if len(value) not in (1, img.shape[-3]):
                raise ValueError(
                    "If value is a sequence, it should have either a single value or "
                    f"{img.shape[-3]} (number of input channels)"
                )
        return F.erase(img, *self.get_params(img, self.scale, self.ratio, value), self.inplace)

    def __repr__(self):
        return (
            f"{type(self).__name__}(p={self.p}, scale={self.scale}, ratio={self.ratio}, value={self.value}, "
            f"inplace={self.inplace})"
        )


class LinearTransformation(nn.Module):
    """The flattened tensor (..., C, H, W), less `mean_vector` (D), times `transformation_matrix` (D, D), D = C H W.

    Shape: (*, C, H, W) -> the same
    Raises:
        ValueError: the matrix is not square, as in `LinearTransformation(ones(2, 3), ones(2))`.

    >>> LinearTransformation(2 * eye(2), zeros(2))(tensor([[[1.0, 2.0]]]))
    tensor([[[2., 4.]]])
    """

    def __init__(self, transformation_matrix, mean_vector):
        super().__init__()
        rows, columns = transformation_matrix.shape
        if rows != columns:
            raise ValueError(f"transformation_matrix should be square. Got {(rows, columns)} rectangular matrix.")
        if mean_vector.size(0) != rows:
            raise ValueError(
                f"mean_vector should have the same length {mean_vector.size(0)}"
                f" as any one of the dimensions of the transformation_matrix [{(rows, columns)}]"
            )
        if transformation_matrix.dtype != mean_vector.dtype:
            raise ValueError(
                f"Input tensors should have the same dtype. Got {transformation_matrix.dtype} and {mean_vector.dtype}"
            )
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def forward(self, tensor):
        channels, height, width = tensor.shape[-3:]
        length = self.transformation_matrix.shape[0]
        if channels * height * width != length:
            raise ValueError(
                "Input tensor and transformation matrix have incompatible shape."
                f"[{channels} x {height} x {width}] != {length}"
            )
        flat = tensor.reshape(-1, length) - self.mean_vector
        return torch.matmul(flat, self.transformation_matrix.to(flat.dtype)).reshape(tensor.shape)

    def __repr__(self):
        return (
            f"{type(self).__name__}(transformation_matrix={self.transformation_matrix.tolist()}, "
            f"mean_vector={self.mean_vector.tolist()})"
        )
