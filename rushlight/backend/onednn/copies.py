"""The wheel that oneDNN comes in holds its library three times, since wheels know no links; here the copies become one file.

Each name stays, as a hard link: whoever opens, compares or removes one of them, pip among them, sees what the wheel put there.
"""

from __future__ import annotations

import filecmp
import os
from importlib import metadata

from ...core.atomic import replace_by_link
from .library import PACKAGE

__all__ = ["link_copies"]


def link_copies() -> tuple[int, int]:
    """Put links in the place of the package's equal files -> (how many, bytes that became free).

    Raises OSError where a folder cannot be written.
    """
    try:
        files = metadata.files(PACKAGE) or ()
    except metadata.PackageNotFoundError:
        return 0, 0
    return _link([os.fspath(file.locate()) for file in files if file.name.startswith("libdnnl.so")])


def _link(paths: list[str]) -> tuple[int, int]:
    first, *others = [path for path in paths if os.path.isfile(path) and not os.path.islink(path)] or [""]
    count = freed = 0
    for path in others:
        if os.path.samefile(first, path) or not filecmp.cmp(first, path, shallow=False):
            continue
        freed += os.path.getsize(path) if os.stat(path).st_nlink == 1 else 0
        replace_by_link(path, first)
        count += 1
    return count, freed
