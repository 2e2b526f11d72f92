"""`torchvision.version`: the torchvision release whose behaviour Rushlight has."""

from rushlight_vision import __version__

__all__ = ["__version__", "cuda", "git_version"]

git_version = "rushlight"
cuda = None
