"""The names `torch` and `torchvision` for Rushlight: `install()`, and from then on `import torch` gives Rushlight."""

from rushlight.alias.finder import install, installed

__all__ = ["install", "installed"]
