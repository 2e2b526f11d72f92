"""What operators become where their kernel's own text does not say it: one function for each operator, by name.

A rule has the kernel's parameters after a first one, the builder. Arrays come as `Lazy`; it returns what the kernel
returns, as `Lazy`, or raises `Untraceable`, which leaves the call to the kernel.
"""

from . import (
    activation,
    attention,
    convolution,
    elementary,
    indexing,
    joining,
    loss,
    normalize,
    pool,
    product,
    recurrent,
    reduction,
    running,
    sampling,
    value_checks,
)
from .table import RULES, steps_of

__all__ = [
    "RULES",
    "activation",
    "attention",
    "convolution",
    "elementary",
    "indexing",
    "joining",
    "loss",
    "normalize",
    "pool",
    "product",
    "recurrent",
    "reduction",
    "running",
    "sampling",
    "steps_of",
    "value_checks",
]
