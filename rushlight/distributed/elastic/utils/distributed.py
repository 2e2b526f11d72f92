"""`torch.distributed.elastic.utils.distributed`: ports of this host."""

from . import get_socket_with_port

__all__ = ["get_free_port"]


def get_free_port() -> int:
    """A port at which nothing listens now."""
    with get_socket_with_port() as listener:
        return listener.getsockname()[1]
