"""`torch.distributed.elastic.multiprocessing`: the errors of processes that `torch.distributed.run` has started."""

from . import errors

__all__ = ["errors"]
