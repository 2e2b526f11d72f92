"""`torch._functorch`: of the inner part of torch's compiler only its settings."""

from . import config

__all__ = ["config"]
