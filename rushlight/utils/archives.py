"""Reading archives whose directories may claim anything."""

import os
from typing import Any


class Clamped:
    """A file for `zipfile` that reads no more than there is: Python allocates what a file claims, then reads."""

    def __init__(self, file: Any):
        self._file = file
        start = file.tell()
        self._size = file.seek(0, os.SEEK_END)
        file.seek(start)
        self.seek, self.tell, self.seekable = file.seek, file.tell, lambda: True

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self._size - self._file.tell())
        return self._file.read(left if size is None or size < 0 else min(size, left))

    def close(self) -> None:
        """Nothing: the file is its owner's."""
