"""FakeData: random images in place of a data set."""

import rushlight as torch
from rushlight import Generator
from rushlight_vision.datasets.vision import VisionDataset
from rushlight_vision.transforms.functional import to_pil_image


class FakeData(VisionDataset):
    """`size` random images of shape `image_size` (C, H, W) with targets below `num_classes`.

    An item depends on its index (plus `random_offset`) alone, not on the default generator. An item is (image, target):
    a PIL image, or what `transform` makes of it, and an int.
    """

    def __init__(
        self,
        size=1000,
        image_size=(3, 224, 224),
        num_classes=10,
        transform=None,
        target_transform=None,
        random_offset=0,
    ):
        super().__init__(transform=transform, target_transform=target_transform)
        self.size = size
        self.num_classes = num_classes
        self.image_size = image_size
        self.random_offset = random_offset

    def __getitem__(self, index):
        if index >= len(self):
            raise IndexError(f"{type(self).__name__} index out of range")
        generator = Generator()
        generator.manual_seed(index + self.random_offset)
        image = torch.randn(*self.image_size, generator=generator)
        target = torch.randint(0, self.num_classes, size=(1,), generator=generator)[0]
        image, target = self._transformed(to_pil_image(image), target)
        return image, target.item()

    def __len__(self):
        return self.size
