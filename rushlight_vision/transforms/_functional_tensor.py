"""The transforms on tensors (..., C, H, W), in tensor operators, so that gradients pass through them."""

import numpy as np

import rushlight as torch
from rushlight import Tensor, float32, float64, from_numpy, int8, int16, int32, int64, uint8
from rushlight_vision.transforms import resample
from rushlight_vision.transforms._functional_pil import padding_ltrb

_LARGEST = {uint8: 255, int8: 127, int16: 32767, int32: 2147483647, int64: 9223372036854775807}


def get_dimensions(img):
    _check(img)
    return [1 if img.ndim == 2 else img.shape[-3], *img.shape[-2:]]


def _check(img, channels=None):
    if img.ndim < 2:
        raise TypeError("Tensor is not a torch image.")
    if channels is not None and (found := get_dimensions(img)[0]) not in channels:
        raise TypeError(f"Input image tensor permitted channel values are {list(channels)}, but found {found}")


def _check_colour(img):
    if img.ndim < 3:
        raise TypeError(f"Input image tensor should have at least 3 dimensions, but found {img.ndim}")
    _check(img, (1, 3))


def _largest(dtype):
    """White: the largest value of an integer dtype, 1 for a floating-point one."""
    return _LARGEST.get(dtype, 1)


# Values


def convert_image_dtype(image, dtype):
    dtype = float32 if dtype is None else dtype
    old, new = image.dtype, dtype
    if old == new:
        return image
    if old.is_floating_point and new.is_floating_point:
        return image.to(new)
    if old.is_floating_point:
        if (old == float32 and new in (int32, int64)) or (old == float64 and new == int64):
            raise RuntimeError(f"The cast from {old} to {new} cannot be performed safely.")
        return image.mul(_largest(new) + 1.0 - 1e-3).to(new)  # a value just below 1 must not become a step of its own
    if new.is_floating_point:
        return image.to(new) / float(_largest(old))
    ratio = (_largest(old) + 1) / (_largest(new) + 1)
    if ratio > 1:
        return torch.div(image, int(ratio), rounding_mode="floor").to(new)
    return image.to(new) * int(1 / ratio)


def normalize(tensor, mean, std, inplace):
    _check(tensor)
    if not tensor.is_floating_point():
        raise TypeError(f"Input tensor should be a float tensor. Got {tensor.dtype}.")
    if tensor.ndim < 3:
        raise ValueError(
            f"Expected tensor to be a tensor image of size (..., C, H, W). Got tensor.size() = {tensor.size()}"
        )
    mean, std = _per_channel(mean, tensor.dtype), _per_channel(std, tensor.dtype)
    if (std == 0).any():
        raise ValueError(f"std evaluated to zero after conversion to {tensor.dtype}, leading to division by zero.")
    return (tensor if inplace else tensor.clone()).sub_(from_numpy(mean)).div_(from_numpy(std))


def _per_channel(values, dtype):
    """The numbers as an array (C, 1, 1), or () for one: with tensors, normalizing a CIFAR image took twice as long."""
    if isinstance(values, Tensor):
        values = values.detach().numpy()
    array = np.asarray(values, dtype.numpy)
    return array[:, None, None] if array.ndim == 1 else array


def erase(img, i, j, h, w, v, inplace):
    _check(img)
    img = img if inplace else img.clone()
    img[..., i : i + h, j : j + w] = v
    return img


# Size and place


def resize(img, size, mode, antialias):
    _check(img)
    out = resample.resized(_floating(img), size, mode, antialias)
    if mode == "bicubic" and img.dtype == uint8:
        out = out.clamp(0, 255)
    return _as_before(out, img.dtype)


def crop(img, top, left, height, width):
    _check(img)
    _, h, w = get_dimensions(img)
    right, bottom = left + width, top + height
    inside = img[..., max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
    if left >= 0 and top >= 0 and right <= w and bottom <= h:
        return inside
    missing = [
        max(min(right, 0) - left, 0),
        max(min(bottom, 0) - top, 0),
        max(right - max(w, left), 0),
        max(bottom - max(h, top), 0),
    ]
    return pad(inside, missing, 0, "constant")


def hflip(img):
    _check(img)
    return img.flip(-1)


def vflip(img):
    _check(img)
    return img.flip(-2)


def pad(img, padding, fill, padding_mode):
    _check(img)
    left, top, right, bottom = padding_ltrb(padding, fill, padding_mode)
    if isinstance(fill, (tuple, list)):
        raise TypeError("Got inappropriate fill arg")
    if padding_mode == "constant":
        return torch.pad(img, [left, right, top, bottom], mode="constant", value=float(fill or 0))
    height, width = img.shape[-2:]
    rows = _bordered(height, top, bottom, padding_mode)
    return resample.at_indices(img, rows, _bordered(width, left, right, padding_mode))


def _bordered(size, before, after, padding_mode):
    """The indices of one dimension with its border; a negative border cuts."""
    indices = np.arange(size)[max(-before, 0) : size - max(-after, 0)]
    widest = {"edge": np.inf, "symmetric": len(indices), "reflect": len(indices) - 1}[padding_mode]
    if max(before, after) > widest:
        raise RuntimeError(
            f"Padding size should be less than the corresponding input dimension, but got: padding ({before}, {after}) "
            f"in mode '{padding_mode}' at a dimension of {len(indices)}"
        )
    return np.pad(indices, (max(before, 0), max(after, 0)), mode=padding_mode)


def affine(img, matrix, mode, fill, expand=False):
    """`matrix` maps a pixel of the result, counted from its middle, to one of the image, counted from its middle."""
    _check_sampling(img, mode, fill)
    height, width = img.shape[-2:]
    out_width, out_height = _expanded(matrix, width, height) if expand else (width, height)
    kind = np.float64 if img.dtype == float64 else np.float32
    x, y = np.meshgrid(_from_middle(out_width, kind), _from_middle(out_height, kind))
    xx, xy, x0, yx, yy, y0 = np.array(matrix, kind)
    half = np.array([0.5 * width, 0.5 * height], kind)
    # by way of torch's normalised coordinates, whose rounding decides between neighbours at their border
    unit_x = x * (xx / half[0]) + y * (xy / half[0]) + x0 / half[0]
    unit_y = x * (yx / half[1]) + y * (yy / half[1]) + y0 / half[1]
    return _sampled(img, unit_x, unit_y, mode, fill)


def perspective(img, coefficients, mode, fill):
    _check_sampling(img, mode, fill)
    height, width = img.shape[-2:]
    kind = np.float64 if img.dtype == float64 else np.float32
    a, b, c, d, e, f, g, h = np.array(coefficients, kind)
    x, y = np.meshgrid(np.arange(width, dtype=kind) + 0.5, np.arange(height, dtype=kind) + 0.5)
    half = np.array([0.5 * width, 0.5 * height], kind)
    depth = x * g + y * h + 1
    unit_x = (x * (a / half[0]) + y * (b / half[0]) + c / half[0]) / depth - 1
    unit_y = (x * (d / half[1]) + y * (e / half[1]) + f / half[1]) / depth - 1
    return _sampled(img, unit_x, unit_y, mode, fill)


def elastic(img, displacement, mode, fill):
    _check_sampling(img, mode, fill)
    height, width = img.shape[-2:]
    x = torch.linspace((-width + 1) / width, (width - 1) / width, width).numpy()
    y = torch.linspace((-height + 1) / height, (height - 1) / height, height).numpy()
    moved = np.stack(np.meshgrid(x, y), axis=-1) + displacement
    return _sampled(img, moved[..., 0], moved[..., 1], mode, fill)


def _check_sampling(img, mode, fill):
    _check(img)
    channels = get_dimensions(img)[0]
    if isinstance(fill, (tuple, list)) and len(fill) not in (1, channels):
        raise ValueError(
            "The number of elements in 'fill' cannot broadcast to match the number of "
            f"channels of the image ({len(fill)} != {channels})"
        )
    if mode not in ("nearest", "bilinear"):
        raise ValueError(f"Interpolation mode '{mode}' is unsupported with Tensor input")


def _sampled(img, unit_x, unit_y, mode, fill):
    """The image at coordinates that run from -1 to 1 over its outer edges."""
    height, width = img.shape[-2:]
    x = ((unit_x + 1) * width - 1) / 2
    y = ((unit_y + 1) * height - 1) / 2
    fill = [fill] if isinstance(fill, (int, float)) else fill
    return _as_before(resample.sampled(_floating(img), x, y, mode, fill), img.dtype)


def _from_middle(size, kind):
    return np.arange(size, dtype=kind) + kind(0.5 - 0.5 * size)


def _expanded(matrix, width, height):
    """(width, height) that hold the whole turned image."""
    corners = np.array([[x * width, y * height, 1.0] for x in (-0.5, 0.5) for y in (-0.5, 0.5)], np.float32)
    turned = corners @ np.array(matrix, np.float32).reshape(2, 3).T + np.array([width, height], np.float32) * 0.5
    tolerance = np.float32(1e-4)  # a rounding error must not add a pixel
    top = np.ceil(np.trunc(turned.max(axis=0) / tolerance) * tolerance)
    bottom = np.floor(np.trunc(turned.min(axis=0) / tolerance) * tolerance)
    return tuple(int(size) for size in top - bottom)


def _floating(img):
    return img if img.dtype in (float32, float64) else img.to(float32)


def _as_before(out, dtype):
    """Back in the image's own dtype, rounded where that is an integer one."""
    if out.dtype == dtype:
        return out
    return (out.round() if dtype in _LARGEST else out).to(dtype)


# Colour


def _blended(img, other, ratio, what):
    """ratio * img + (1 - ratio) * other, in the image's own range and dtype."""
    if ratio < 0:
        raise ValueError(f"{what} ({ratio}) is not non-negative.")
    ratio = float(ratio)
    return (ratio * img + (1.0 - ratio) * other).clamp(0, _largest(img.dtype)).to(img.dtype)


def adjust_brightness(img, factor):
    _check(img, (1, 3))
    return _blended(img, torch.zeros_like(img), factor, "brightness_factor")


def adjust_contrast(img, factor):
    _check(img, (1, 3))
    grey = rgb_to_grayscale(img, 1) if get_dimensions(img)[0] == 3 else img
    dtype = img.dtype if img.is_floating_point() else float32
    return _blended(img, grey.to(dtype).mean(dim=(-3, -2, -1), keepdim=True), factor, "contrast_factor")


def adjust_saturation(img, factor):
    _check(img, (1, 3))
    if get_dimensions(img)[0] == 1:
        return img
    return _blended(img, rgb_to_grayscale(img, 1), factor, "saturation_factor")


def adjust_sharpness(img, factor):
    _check(img, (1, 3))
    if min(img.shape[-2:]) <= 2:
        return img
    return _blended(img, _softened(img), factor, "sharpness_factor")


def adjust_hue(img, factor):
    _check(img, (1, 3))
    if get_dimensions(img)[0] == 1:
        return img
    hue, saturation, value = _hsv(convert_image_dtype(img, float32))
    return convert_image_dtype(_rgb((hue + factor) % 1.0, saturation, value), img.dtype)


def adjust_gamma(img, gamma, gain):
    _check(img, (1, 3))
    value = convert_image_dtype(img, None) if not img.is_floating_point() else img
    return convert_image_dtype((gain * value.pow(gamma)).clamp(0, 1), img.dtype)


def rgb_to_grayscale(img, num_output_channels):
    _check_colour(img)
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    if img.shape[-3] == 3:
        red, green, blue = img.unbind(dim=-3)
        grey = (0.2989 * red + 0.587 * green + 0.114 * blue).to(img.dtype).unsqueeze(dim=-3)
    else:
        grey = img.clone()
    return grey.expand(img.shape) if num_output_channels == 3 else grey


def invert(img):
    _check_colour(img)
    return _largest(img.dtype) - img


def posterize(img, bits):
    _check_colour(img)
    if img.dtype != uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")
    return img & (256 - 2 ** (8 - bits))


def solarize(img, threshold):
    _check_colour(img)
    if threshold > _largest(img.dtype):
        raise TypeError("Threshold should be less than bound of img.")
    return torch.where(img >= threshold, invert(img), img)


def autocontrast(img):
    _check_colour(img)
    white = _largest(img.dtype)
    dtype = img.dtype if img.is_floating_point() else float32
    low = img.amin(dim=(-2, -1), keepdim=True).to(dtype)
    high = img.amax(dim=(-2, -1), keepdim=True).to(dtype)
    flat = low == high  # such a channel stays as it is
    one = torch.ones_like(low)
    scale = torch.where(flat, one, white / torch.where(flat, one, high - low))
    return ((img - torch.where(flat, torch.zeros_like(low), low)) * scale).clamp(0, white).to(img.dtype)


def equalize(img):
    _check(img)
    if not 3 <= img.ndim <= 4:
        raise TypeError(f"Input image tensor should have 3 or 4 dimensions, but found {img.ndim}")
    if img.dtype != uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")
    _check(img, (1, 3))
    pixels = img.numpy()
    channels = pixels.reshape(-1, *pixels.shape[-2:])
    return from_numpy(np.stack([_equalized(channel) for channel in channels]).reshape(pixels.shape))


def _equalized(channel):
    histogram = np.bincount(channel.reshape(-1), minlength=256)
    step = (histogram.sum() - histogram[channel.max()]) // 255
    if step == 0:
        return channel
    table = np.concatenate([[0], (np.cumsum(histogram) + step // 2) // step])[:256]
    return np.clip(table, 0, 255).astype(np.uint8)[channel]


def gaussian_blur(img, kernel_size, sigma):
    _check(img)
    across, down = (_gaussian(size, s) for size, s in zip(kernel_size, sigma, strict=True))
    x, y = kernel_size[0] // 2, kernel_size[1] // 2
    padded = pad(_floating(img), [x, y, x, y], 0, "reflect")
    return _as_before(_convolved(padded, np.outer(down, across)), img.dtype)


def _gaussian(size, sigma):
    x = np.linspace(-(size - 1) * 0.5, (size - 1) * 0.5, size, dtype=np.float32)
    density = np.exp(-0.5 * (x / np.float32(sigma)) ** 2)
    return density / density.sum()


def _softened(img):
    kernel = np.ones((3, 3), np.float32)
    kernel[1, 1] = 5.0
    out = img.clone()
    out[..., 1:-1, 1:-1] = _as_before(_convolved(_floating(img), kernel / kernel.sum()), img.dtype)
    return out


def _convolved(img, kernel):
    """Each channel of the float tensor (..., C, H, W) with the same kernel (R, S)."""
    *lead, height, width = img.shape
    flat = img.reshape(-1, 1, height, width)
    out = torch.conv2d(flat, from_numpy(np.ascontiguousarray(kernel)).to(img.dtype)[None, None])
    return out.reshape(*lead, *out.shape[-2:])


def _hsv(img):
    """(hue, saturation, value) of a float image; hue 0 where there is no colour."""
    red, green, blue = img.unbind(dim=-3)
    high, low = img.amax(dim=-3), img.amin(dim=-3)
    grey = high == low
    one = torch.ones_like(high)
    spread = high - low
    saturation = spread / torch.where(grey, one, high)
    divisor = torch.where(grey, one, spread)
    r, g, b = ((high - colour) / divisor for colour in (red, green, blue))
    is_red = high == red
    is_green = (high == green) & ~is_red
    sixths = torch.where(is_red, b - g, torch.where(is_green, 2.0 + r - b, 4.0 + g - r))
    return torch.fmod(sixths / 6.0 + 1.0, 1.0), saturation, high


def _rgb(hue, saturation, value):
    """The float image with these components: each channel is one of four values, according to the sixth of the hue."""
    sector = torch.floor(hue * 6.0)
    within = hue * 6.0 - sector
    p = (value * (1.0 - saturation)).clamp(0.0, 1.0)
    q = (value * (1.0 - saturation * within)).clamp(0.0, 1.0)
    t = (value * (1.0 - saturation * (1.0 - within))).clamp(0.0, 1.0)
    index = (sector.to(int64) % 6).unsqueeze(-3)
    by_sector = ((value, q, p, p, t, value), (t, value, value, q, p, p), (p, p, t, value, value, q))
    return torch.cat([torch.stack(choices, dim=-3).gather(-3, index) for choices in by_sector], dim=-3)
