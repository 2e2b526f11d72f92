"""What people look at: the layers of a model, the tape of a tensor as a picture, and tensors that hold pictures."""

from .image import as_image
from .summary import summary
from .tape import draw_tape

__all__ = ["as_image", "draw_tape", "summary"]
