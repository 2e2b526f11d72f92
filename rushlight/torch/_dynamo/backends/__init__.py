"""`torch._dynamo.backends`: what makes callables of graphs."""

from . import registry

__all__ = ["registry"]
