"""Tools around training: data loading, and recomputing activations in backward."""

from rushlight.utils import checkpoint, data

__all__ = ["checkpoint", "data"]
