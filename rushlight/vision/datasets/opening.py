"""Image files, read whole and closed at once."""


def opened(path, mode=None):
    """The PIL image in the file, converted to `mode` where one is given."""
    from PIL import Image

    with open(path, "rb") as file, Image.open(file) as image:
        if mode is not None:
            return image.convert(mode)
        image.load()
        return image.copy()
