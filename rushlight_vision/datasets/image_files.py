"""Image files, read whole and closed at once."""

from rushlight_vision.pixels import check_pixels


def opened(path, mode=None):
    """The PIL image in the file, converted to `mode` where one is given."""
    from PIL import Image

    with open(path, "rb") as file, Image.open(file) as image:
        check_pixels(image)
        if mode is not None:
            return image.convert(mode)
        image.load()
        return image.copy()
