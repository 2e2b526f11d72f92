"""The command `torchrun`: torch's launcher, whose processes run with Rushlight in torch's place."""

from ..alias import install
from ..distributed.run import main as launch

__all__ = ["main"]


def main(argv=None):
    """Carry out the command line. Raises SystemExit with a process's status where one failed."""
    install()
    launch(argv)
