"""What goes wrong between processes."""

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "QueueEmptyError"]


class DistError(RuntimeError):
    """Something between processes went wrong."""


class DistBackendError(DistError):
    """A collective failed."""


class DistNetworkError(DistError):
    """A connection could not be made."""


class DistStoreError(DistError):
    """A store did not answer, or a key did not appear in time."""


class QueueEmptyError(DistStoreError):
    """A queue of a store is empty."""


for _error in (DistError, DistBackendError, DistNetworkError, DistStoreError, QueueEmptyError):
    _error.__module__ = "torch.distributed"
