"""A batch of images of several sizes, padded to one."""

__all__ = ["ImageList"]


class ImageList:
    """tensors: (N, C, H, W), each image in the upper left corner; image_sizes: (height, width) of each before padding."""

    def __init__(self, tensors, image_sizes):
        self.tensors = tensors
        self.image_sizes = image_sizes

    def to(self, device):
        """The same images on another device."""
        return ImageList(self.tensors.to(device), self.image_sizes)
