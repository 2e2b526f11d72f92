"""What counts as Rushlight's own code, where a message names the user's line or a class of the user's is meant."""

import functools
from os import sep
from os.path import dirname  # pathlib is a twentieth of the time of `import rushlight`

import numpy as np


def folders_of(file: str, code_file: str, levels: int = 1) -> tuple[str, ...]:
    """The folder `levels` above a module's file, and the one that its code names, each with a separator at its end.

    They differ where the code was compiled in another place, as that of frozen programs is: it keeps its names of files.
    """
    for _ in range(levels):
        file, code_file = dirname(file), dirname(code_file)
    return tuple([folder + sep for folder in dict.fromkeys((file, code_file)) if folder])


PACKAGE = folders_of(__file__, folders_of.__code__.co_filename, 2)
FILES = (
    *PACKAGE,
    *[folder[: -len(sep)] + "_vision" + sep for folder in PACKAGE],
    "<rushlight",
)  # how names of source files begin; the last is of generated source
NUMPY = folders_of(np.lib.__file__, np.errstate.__init__.__code__.co_filename, 2)  # how those of NumPy's begin
STANDARD = folders_of(
    functools.__file__, functools.wraps.__code__.co_filename
)  # the standard library's, and below them packages
MODULES = ("rushlight.", "rushlight_vision.")  # how the `__module__` of classes and functions begins


def in_package(folder: str) -> tuple[str, ...]:
    """How names of the source files in a folder of the package begin."""
    return tuple([package + folder.replace("/", sep) + sep for package in PACKAGE])


@functools.lru_cache(4096)
def is_own_file(filename: str) -> bool:
    """Whether a source file is Rushlight's own."""
    return filename.startswith(FILES)
