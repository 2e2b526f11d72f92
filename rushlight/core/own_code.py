"""What counts as Rushlight's own code, where a message names the user's line or a class of the user's is meant."""

from functools import lru_cache
from os.path import dirname  # pathlib is a twentieth of the time of `import rushlight`

_FOLDER = dirname(dirname(__file__))
PACKAGE = _FOLDER + "/"
FILES = (
    PACKAGE,
    _FOLDER + "_vision/",
    "<rushlight",
)  # how names of source files begin; the last is of generated source
MODULES = ("rushlight.", "rushlight_vision.")  # how the `__module__` of classes and functions begins


@lru_cache(4096)
def is_own_file(filename: str) -> bool:
    """Whether a source file is Rushlight's own."""
    return filename.startswith(FILES)
