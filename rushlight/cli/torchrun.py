"""The command `torchrun`: torch's launcher, whose processes run with Rushlight in torch's place.

Both packages bring a command of this name, and the one installed last wins. Where torch is installed, the command is torch's,
except below `rushlight run`; `python -m rushlight.distributed.run` is Rushlight's in any case.
"""

from importlib.machinery import PathFinder

from ..alias import install
from ..distributed.run import main as launch

__all__ = ["main"]


def main(argv=None):
    """Carry out the command line. Raises SystemExit with a process's status where one failed."""
    found = PathFinder.find_spec("torch")
    if found is not None and found.submodule_search_locations:  # a folder: the alias has a file
        from torch.distributed.run import main as run  # pyright: ignore[reportMissingImports]

        run(argv)
        return
    install()
    launch(argv)
