"""`torch.distributed.constants`: the time limits of groups for which none is given."""

from .world import default_pg_timeout

__all__ = ["default_pg_nccl_timeout", "default_pg_timeout"]

default_pg_nccl_timeout = None  # there is no NCCL
