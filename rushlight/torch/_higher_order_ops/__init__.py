"""`torch._higher_order_ops`: operators that take functions."""

from .associative_scan import associative_scan
from .cond import cond
from .foreach_map import foreach_map
from .map import map
from .while_loop import while_loop

__all__ = ["associative_scan", "cond", "foreach_map", "map", "while_loop"]
