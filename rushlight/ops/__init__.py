"""Every operator, by torch's name."""

from . import pointwise
