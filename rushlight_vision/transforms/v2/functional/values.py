"""Colours, dtypes, noise and the rest of what changes an image's values; masks, boxes and points are not concerned."""

import io

import rushlight as torch
from rushlight import Tensor, float32
from rushlight import bool as bool_
from rushlight_vision import tv_tensors
from rushlight_vision.transforms import _functional_pil
from rushlight_vision.transforms import functional as F
from rushlight_vision.transforms.v2.functional.kinds import by_kind, is_image, like, plain

adjust_brightness = by_kind(F.adjust_brightness)
adjust_contrast = by_kind(F.adjust_contrast)
adjust_saturation = by_kind(F.adjust_saturation)
adjust_hue = by_kind(F.adjust_hue)
adjust_gamma = by_kind(F.adjust_gamma)
adjust_sharpness = by_kind(F.adjust_sharpness)
equalize = by_kind(F.equalize)
invert = by_kind(F.invert)
posterize = by_kind(F.posterize)
solarize = by_kind(F.solarize)
rgb_to_grayscale = by_kind(F.rgb_to_grayscale)
gaussian_blur = by_kind(F.gaussian_blur)
normalize = by_kind(F.normalize)
to_grayscale = F.to_grayscale


@by_kind
def autocontrast(inpt):
    """The range of each channel stretched to the full one; tensors are rounded otherwise than in the first version."""
    if not isinstance(inpt, Tensor):
        return F.autocontrast(inpt)
    bound = 1.0 if inpt.is_floating_point() else 255.0
    image = inpt if inpt.is_floating_point() else inpt.to(float32)
    low, high = image.amin(dim=(-2, -1), keepdim=True), image.amax(dim=(-2, -1), keepdim=True)
    flat = low == high
    step = torch.where(flat, torch.ones_like(low), (high - low) * (1.0 / bound))
    stretched = (image - torch.where(flat, torch.zeros_like(low), low)) / step
    return stretched.clamp(0, bound).to(inpt.dtype)


@by_kind
def erase(inpt, i, j, h, w, v, inplace=False):
    """A rectangle overwritten; a PIL image too."""
    if isinstance(inpt, Tensor):
        return F.erase(inpt, i, j, h, w, v, inplace)
    return F.to_pil_image(F.erase(F.pil_to_tensor(inpt), i, j, h, w, v, True))


@by_kind
def grayscale_to_rgb(inpt):
    """One channel made three equal ones; three stay as they are."""
    if not isinstance(inpt, Tensor):
        return inpt.convert("RGB")
    return inpt if inpt.shape[-3] >= 3 else inpt.repeat_interleave(3, dim=-3)


@by_kind
def permute_channels(inpt, permutation):
    """The channels in another order."""
    order = [int(index) for index in permutation]
    if isinstance(inpt, Tensor):
        return inpt[..., order, :, :]
    from PIL import Image

    bands = inpt.split()
    return Image.merge(inpt.mode, [bands[index] for index in order])


@by_kind
def gaussian_noise(inpt, mean: float = 0.0, sigma: float = 0.1, clip=True):
    """A float image, or one of bytes, with normal noise of that deviation (of the full range) added."""
    if not isinstance(inpt, Tensor):
        raise ValueError("Gaussian Noise is not implemented for PIL images.")
    if sigma < 0:
        raise ValueError(f"sigma shouldn't be negative. Got {sigma}")
    if inpt.is_floating_point():
        out = inpt + (mean + torch.randn_like(inpt) * sigma)
        return out.clamp(0, 1) if clip else out
    noise = (mean * 255 + torch.randn_like(inpt, dtype=float32) * sigma * 255).to(inpt.dtype)
    total = inpt.to(float32) + noise.to(float32)
    return (total.clamp(0, 255) if clip else total).to(inpt.dtype)


@by_kind
def jpeg(inpt, quality):
    """What a JPEG file of that quality leaves of the image."""
    from PIL import Image

    image = inpt if _functional_pil.is_pil_image(inpt) else F.to_pil_image(inpt)
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=quality)
    back = Image.open(stream)
    back.load()
    return back if _functional_pil.is_pil_image(inpt) else F.pil_to_tensor(back)


def to_image(inpt):
    """A tensor, array (H, W, C) or PIL image as tv_tensors.Image."""
    import numpy as np

    if isinstance(inpt, np.ndarray):
        pixels = inpt[:, :, None] if inpt.ndim == 2 else inpt
        return tv_tensors.Image(np.ascontiguousarray(pixels.transpose(2, 0, 1)))
    if _functional_pil.is_pil_image(inpt):
        return tv_tensors.Image(F.pil_to_tensor(inpt))
    if isinstance(inpt, Tensor):
        return tv_tensors.Image(plain(inpt))
    raise TypeError(f"Input can either be a pure Tensor, a numpy array, or a PIL image, but got {type(inpt)} instead.")


def to_pil_image(inpt, mode=None):
    """See `transforms.functional.to_pil_image`."""
    return F.to_pil_image(plain(inpt), mode)


def pil_to_tensor(inpt):
    """See `transforms.functional.pil_to_tensor`."""
    return F.pil_to_tensor(inpt)


def to_tensor(inpt):
    """See `transforms.functional.to_tensor`."""
    return F.to_tensor(inpt)


def to_dtype(inpt, dtype=float32, scale=False):
    """In another dtype; scale=True brings an image's values to its range. Masks and boxes keep their values."""
    if scale and is_image(inpt):
        image = plain(inpt)
        if dtype.is_floating_point and not image.is_floating_point() and image.dtype != bool_:
            return like(image.to(dtype).mul_(1.0 / F._functional_tensor._largest(image.dtype)), inpt)
        return like(F.convert_image_dtype(image, dtype), inpt)
    return like(plain(inpt).to(dtype), inpt)


def convert_image_dtype(image, dtype=float32):
    """`to_dtype` with scale=True."""
    return to_dtype(image, dtype=dtype, scale=True)


def uniform_temporal_subsample(inpt, num_samples):
    """`num_samples` frames of a film (..., T, C, H, W), at equal steps."""
    film = plain(inpt)
    count = film.shape[-4]
    places = torch.linspace(0, count - 1, num_samples).clamp(0, count - 1).long()
    return like(film.index_select(film.ndim - 4, places), inpt)


def get_dimensions(inpt):
    """[channels, height, width]."""
    return F.get_dimensions(plain(inpt))


def get_num_channels(inpt):
    """The number of channels."""
    return get_dimensions(inpt)[0]


get_image_num_channels = get_num_channels


def get_size(inpt):
    """[height, width]."""
    if hasattr(inpt, "canvas_size"):
        return list(inpt.canvas_size)
    if isinstance(inpt, Tensor):
        return list(inpt.shape[-2:])
    return get_dimensions(inpt)[1:]


def get_image_size(inpt):
    """[width, height]."""
    return get_size(inpt)[::-1]


def get_num_frames(inpt):
    """The number of frames of a film."""
    return inpt.shape[-4]
