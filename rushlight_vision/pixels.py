"""Opening image files: a short file that claims a huge image is an error, not a warning."""

__all__ = ["check_pixels"]


def check_pixels(image, frames=1):
    """`image`, whose size only has been read so far, after proof that it is not too large to decode.

    The limit is Pillow's, `PIL.Image.MAX_IMAGE_PIXELS` (89 million pixels; None for no limit), beyond which Pillow warns.
    Raises PIL.Image.DecompressionBombError.
    """
    from PIL import Image

    limit = Image.MAX_IMAGE_PIXELS
    width, height = image.size
    if limit is not None and width * height * frames > limit:
        each = f"{frames} frames of " if frames > 1 else ""
        raise Image.DecompressionBombError(
            f"the image has {each}{width} x {height} pixels, more than the {limit} that PIL.Image.MAX_IMAGE_PIXELS allows; "
            "set it higher if you trust the file"
        )
    return image
