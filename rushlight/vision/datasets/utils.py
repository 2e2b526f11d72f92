"""torchvision's module name for fetching and unpacking; the functions are in `download` and `archive`."""

from rushlight.vision.datasets.archive import extract_archive
from rushlight.vision.datasets.download import (
    calculate_md5,
    check_integrity,
    check_md5,
    download_and_extract_archive,
    download_url,
)

__all__ = [
    "calculate_md5",
    "check_integrity",
    "check_md5",
    "download_and_extract_archive",
    "download_url",
    "extract_archive",
]
