"""Whether what is left of a function after a number was read only puts it into the result.

`float(loss)` gives a plain number, and Python may decide by it. A replay decides nothing, so such a number is taken only
where no instruction is left that could: neither in the function nor in those that called it inside the compiled one.
"""

from __future__ import annotations

import dis
from typing import Any

from ...core import own_code

_STRAIGHT = frozenset(
    """
    CACHE NOP RESUME PUSH_NULL POP_TOP SWAP COPY EXTENDED_ARG PRECALL CALL CALL_KW KW_NAMES RETURN_VALUE RETURN_CONST
    LOAD_CONST LOAD_SMALL_INT LOAD_FAST LOAD_FAST_BORROW LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST LOAD_DEREF
    LOAD_FAST_BORROW_LOAD_FAST_BORROW STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST BUILD_TUPLE BUILD_LIST
    BUILD_MAP BUILD_CONST_KEY_MAP UNPACK_SEQUENCE NOT_TAKEN
    """.split()  # noqa: SIM905
)
_MAKERS = frozenset(("float", "dict", "tuple", "list"))


def is_last(frame: Any, outermost: Any) -> bool:
    """Whether only straight instructions are left in `frame` and its callers up to the code of `outermost`."""
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(own_code.FILES):
            if not _is_straight(code, frame.f_lasti, frame.f_globals):
                return False
            if code is outermost:
                return True
        elif code.co_name == "listen":
            return True
        frame = frame.f_back
    return False


def _is_straight(code: Any, at: int, scope: dict[str, Any]) -> bool:
    for i in dis.get_instructions(code):
        if i.offset <= at or i.opname in _STRAIGHT:
            continue
        if i.opname not in ("LOAD_GLOBAL", "LOAD_NAME") or i.argval not in _MAKERS or i.argval in scope:
            return False
    return True
