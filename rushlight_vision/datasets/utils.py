"""torchvision's module name for fetching, unpacking and checking; the functions are in modules of their own."""

import os

from rushlight_vision.datasets.archive import extract_archive
from rushlight_vision.datasets.download import (
    calculate_md5,
    check_integrity,
    check_md5,
    download_and_extract_archive,
    download_url,
)
from rushlight_vision.datasets.drive import download_file_from_google_drive
from rushlight_vision.datasets.validation import iterable_to_str, verify_str_arg

__all__ = [
    "calculate_md5",
    "check_integrity",
    "check_md5",
    "download_and_extract_archive",
    "download_file_from_google_drive",
    "download_url",
    "extract_archive",
    "iterable_to_str",
    "list_dir",
    "list_files",
    "verify_str_arg",
]


def list_dir(root, prefix=False):
    """Names of the folders in `root`, with `root` before them if `prefix`."""
    root = os.path.expanduser(root)
    names = [name for name in os.listdir(root) if os.path.isdir(os.path.join(root, name))]
    return [os.path.join(root, name) for name in names] if prefix is True else names


def list_files(root, suffix, prefix=False):
    """Names of the files in `root` that end with `suffix`, with `root` before them if `prefix`."""
    root = os.path.expanduser(root)
    names = [n for n in os.listdir(root) if os.path.isfile(os.path.join(root, n)) and n.endswith(suffix)]
    return [os.path.join(root, name) for name in names] if prefix is True else names
