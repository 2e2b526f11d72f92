"""`torch._dynamo.backends`: what makes callables of graphs."""

from . import common, registry

__all__ = ["common", "registry"]
