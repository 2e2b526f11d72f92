"""`torch.distributed`: several processes that train together, over TCP. The backend is 'gloo', on the CPU.

>>> import os
>>> os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
>>> init_process_group("gloo")
>>> get_rank(), get_world_size()
(0, 1)
>>> destroy_process_group()
"""

import sys as _sys
from typing import Any

from ..core.dispatch import extension_points as _extension_points
from . import world
from .collectives import *  # noqa: F403
from .collectives import __all__ as _collectives
from .errors import *  # noqa: F403
from .errors import __all__ as _errors
from .objects import *  # noqa: F403
from .objects import __all__ as _objects
from .process_group import ProcessGroup
from .reduce_op import RedOpType, ReduceOp
from .rendezvous import register_rendezvous_handler, rendezvous
from .store import FileStore, HashStore, PrefixStore, Store, TCPStore
from .work import Future, Work
from .world import *  # noqa: F403
from .world import __all__ as _world
from .world import default_pg_timeout

_extension_points.distributed.register(_sys.modules[__name__])
reduce_op = ReduceOp
ProcessGroupGloo = ProcessGroup

__all__ = [
    "FileStore",
    "Future",
    "HashStore",
    "PrefixStore",
    "ProcessGroup",
    "ProcessGroupGloo",
    "RedOpType",
    "ReduceOp",
    "Store",
    "TCPStore",
    "Work",
    "default_pg_timeout",
    "reduce_op",
    "register_rendezvous_handler",
    "rendezvous",
    "world",
]
__all__ += [*_collectives, *_errors, *_objects, *_world]


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'torch.distributed' has no attribute {name!r}: Rushlight does not have it")
