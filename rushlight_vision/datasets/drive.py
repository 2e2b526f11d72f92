"""Fetching from Google Drive, by way of the package `gdown`."""

import os

from rushlight_vision.datasets.download import check_integrity


def download_file_from_google_drive(file_id, root, filename=None, md5=None):
    """Fetch the file of that number into the folder `root` unless it is there with the right MD5.

    Raises RuntimeError without the package `gdown`, or if the file that arrived has another MD5.
    """
    try:
        import gdown  # type: ignore[import-not-found]
    except ModuleNotFoundError:
        raise RuntimeError(
            "To download files from GDrive, 'gdown' is required. You can install it with 'pip install gdown'."
        ) from None
    root = os.path.expanduser(root)
    path = os.path.join(root, filename or file_id)
    os.makedirs(root, exist_ok=True)
    if check_integrity(path, md5):
        return
    gdown.download(id=file_id, output=path, quiet=False)
    if not check_integrity(path, md5):
        raise RuntimeError("File not found or corrupted.")
