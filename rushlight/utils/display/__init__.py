"""What people look at: the layers of a model, and the tape of a tensor as a picture."""

from .summary import summary
from .tape import draw_tape

__all__ = ["draw_tape", "summary"]
