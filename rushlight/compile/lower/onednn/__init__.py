"""What a compiled step runs that is no loop: `Extern` nodes as oneDNN primitives with prepared argument tables.

    kind                           operands -> results                      file
    matmul                         x, y[, bias] -> out                      matmul.py
    convolution_forward            x, w[, bias] -> y                        convolution.py, few_channels.py
    convolution_backward_data      g, w -> dx                               and lower/winograd
    convolution_backward_weights   g, x -> dw[, dbias]
    max_pool_backward              g, place -> dx                           pooling.py
    attention_forward              q, k, v -> out, lse                      attention.py
    attention_backward             g, q, k, v, out, lse -> dq, dk, dv
    index_add, scatter_add, _put   source, index -> out                     scatter.py
    running_sum, running_product   x -> y                                   running.py
    running_maximum, _minimum      x -> y, places
    recurrence                     x, factor -> y

Each file says what its kinds compute, with which options and types. A pass asks `serves` before it makes an Extern and
`choose` for the layouts that it likes; memory is planned with what `Needs` says; the executor makes one `Binder`,
lends it that memory, gives it every Extern through `bind`, and calls `Binder.rebind(table)` before a run whose pointer
table has changed.
"""

from .binder import Binder
from .kinds import SAME, Choice, Needs, bind, choose, serves
from .packs import Pack

__all__ = ["SAME", "Binder", "Choice", "Needs", "Pack", "bind", "choose", "serves"]
