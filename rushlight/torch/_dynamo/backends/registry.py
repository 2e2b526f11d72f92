"""`torch._dynamo.backends.registry`: the names of backends."""

from ....compile.backends import list_backends, lookup_backend, register_backend

__all__ = ["list_backends", "lookup_backend", "register_backend"]
