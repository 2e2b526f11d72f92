"""Flowers 102: photographs of 102 kinds of flowers (Nilsback and Zisserman, 2008)."""

from pathlib import Path

from rushlight_vision.datasets.download import check_integrity, download_and_extract_archive, download_url
from rushlight_vision.datasets.folder import default_loader
from rushlight_vision.datasets.image_list import ListedImages
from rushlight_vision.datasets.matfile import load_mat
from rushlight_vision.datasets.validation import found_or_raise, verify_str_arg


class Flowers102(ListedImages):
    """Flowers 102 from the folder `root/flowers-102`, its MATLAB files read without SciPy.

    split: 'train' and 'val' (1,020 images each) or 'test' (6,149). An item is (image, target): a PIL image of mode RGB,
    or what `loader` and `transform` make of it, and the class's number. Raises RuntimeError if a file is missing.
    """

    _download_url_prefix = "https://www.robots.ox.ac.uk/~vgg/data/flowers/102/"
    _file_dict = {
        "image": ("102flowers.tgz", "52808999861908f626f3c1f4e79d11fa"),
        "label": ("imagelabels.mat", "e0620be6f572b9609742df49c70aed4d"),
        "setid": ("setid.mat", "a5357ecc9cb78c4bef273ce3793fc85c"),
    }
    _splits_map = {"train": "trnid", "val": "valid", "test": "tstid"}
    classes = [
        "pink primrose",
        "hard-leaved pocket orchid",
        "canterbury bells",
        "sweet pea",
        "english marigold",
        "tiger lily",
        "moon orchid",
        "bird of paradise",
        "monkshood",
        "globe thistle",
        "snapdragon",
        "colt's foot",
        "king protea",
        "spear thistle",
        "yellow iris",
        "globe-flower",
        "purple coneflower",
        "peruvian lily",
        "balloon flower",
        "giant white arum lily",
        "fire lily",
        "pincushion flower",
        "fritillary",
        "red ginger",
        "grape hyacinth",
        "corn poppy",
        "prince of wales feathers",
        "stemless gentian",
        "artichoke",
        "sweet william",
        "carnation",
        "garden phlox",
        "love in the mist",
        "mexican aster",
        "alpine sea holly",
        "ruby-lipped cattleya",
        "cape flower",
        "great masterwort",
        "siam tulip",
        "lenten rose",
        "barbeton daisy",
        "daffodil",
        "sword lily",
        "poinsettia",
        "bolero deep blue",
        "wallflower",
        "marigold",
        "buttercup",
        "oxeye daisy",
        "common dandelion",
        "petunia",
        "wild pansy",
        "primula",
        "sunflower",
        "pelargonium",
        "bishop of llandaff",
        "gaura",
        "geranium",
        "orange dahlia",
        "pink-yellow dahlia?",
        "cautleya spicata",
        "japanese anemone",
        "black-eyed susan",
        "silverbush",
        "californian poppy",
        "osteospermum",
        "spring crocus",
        "bearded iris",
        "windflower",
        "tree poppy",
        "gazania",
        "azalea",
        "water lily",
        "rose",
        "thorn apple",
        "morning glory",
        "passion flower",
        "lotus",
        "toad lily",
        "anthurium",
        "frangipani",
        "clematis",
        "hibiscus",
        "columbine",
        "desert-rose",
        "tree mallow",
        "magnolia",
        "cyclamen",
        "watercress",
        "canna lily",
        "hippeastrum",
        "bee balm",
        "ball moss",
        "foxglove",
        "bougainvillea",
        "camellia",
        "mallow",
        "mexican petunia",
        "bromelia",
        "blanket flower",
        "trumpet creeper",
        "blackberry lily",
    ]

    def __init__(
        self, root, split="train", transform=None, target_transform=None, download=False, loader=default_loader
    ):
        super().__init__(root, transform, target_transform, loader)
        self._split = verify_str_arg(split, "split", ("train", "val", "test"))
        self._base_folder = Path(self.root) / "flowers-102"
        self._images_folder = self._base_folder / "jpg"
        if download:
            self.download()
        found_or_raise(self._check_integrity())
        numbers = load_mat(self._base_folder / self._file_dict["setid"][0])[self._splits_map[split]].ravel()
        labels = load_mat(self._base_folder / self._file_dict["label"][0])["labels"].ravel().astype(int) - 1
        self._labels = [int(labels[number - 1]) for number in numbers]
        self._image_files = [self._images_folder / f"image_{number:05d}.jpg" for number in numbers]

    def extra_repr(self):
        return f"split={self._split}"

    def _check_integrity(self):
        files = (self._file_dict[which] for which in ("label", "setid"))
        return self._images_folder.is_dir() and all(
            check_integrity(str(self._base_folder / name), md5) for name, md5 in files
        )

    def download(self):
        """Fetch and unpack what is missing."""
        if self._check_integrity():
            return
        name, md5 = self._file_dict["image"]
        download_and_extract_archive(self._download_url_prefix + name, str(self._base_folder), md5=md5)
        for which in ("label", "setid"):
            name, md5 = self._file_dict[which]
            download_url(self._download_url_prefix + name, str(self._base_folder), md5=md5)
