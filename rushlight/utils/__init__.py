"""Tools around training: `rushlight.utils.data` loads it."""

from rushlight.utils import data

__all__ = ["data"]
