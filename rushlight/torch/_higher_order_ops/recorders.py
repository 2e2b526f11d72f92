"""What records a program while a tensor's value chooses what runs next.

Programs are recorded of calls, and a choice that Python makes would be each later run's. Reads by Rushlight's own code are
not reported to a tracer, so the operators that make a user's choice say so here.
"""

from __future__ import annotations

from typing import Any

from ...core.dispatch.extension_points import tracer_of_programs
from ...core.tensor.tensor import Tensor
from ...utils._python_dispatch import active_modes

__all__ = ["recorder"]


def recorder(chooses: Any) -> Any:
    """The tracer of `torch.jit.trace` or `torch.export` that runs, None where there is none or nothing depends on a tensor.

    Raises NotImplementedError inside `make_fx`.
    """
    if not isinstance(chooses, Tensor):
        return None
    for mode in active_modes():
        refuse = getattr(mode, "chosen_by", None)
        if refuse is not None:
            refuse(chooses)
    tracer = tracer_of_programs.value
    return None if tracer is None else tracer()
