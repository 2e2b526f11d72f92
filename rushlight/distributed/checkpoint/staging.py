"""Copies of states, which are saved while training goes on."""

from __future__ import annotations

import copy
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ...core.dispatch.mode import no_grad
from ...core.tensor.tensor import Tensor
from ...utils._pytree import tree_map
from .metadata import STATE_DICT_TYPE

__all__ = ["AsyncStager", "BlockingAsyncStager", "DefaultStager", "StagingOptions"]


@runtime_checkable
class AsyncStager(Protocol):
    """What `async_save` copies the state by."""

    _synchronize_after_execute: bool = True

    @property
    def should_synchronize_after_execute(self) -> bool:
        """Whether `async_save` calls `synchronize_staging` itself."""
        return self._synchronize_after_execute

    def stage(self, state_dict: STATE_DICT_TYPE) -> Future[STATE_DICT_TYPE] | STATE_DICT_TYPE:
        """A copy of the state, which later changes do not reach, or a future of it."""
        raise NotImplementedError(f"{self.__class__.__name__} must implement stage method")

    def synchronize_staging(self) -> None:
        """Wait until the copy is made."""

    def close(self) -> None:
        """No more copies will be asked for."""


@dataclass
class StagingOptions:
    """How `DefaultStager` copies. use_async_staging: in a thread. use_non_blocking_copy: from a GPU, without waiting.

    use_pinned_memory and use_shared_memory say where a copy from a GPU is; they change nothing here.
    """

    use_pinned_memory: bool = True
    use_shared_memory: bool = True
    use_async_staging: bool = True
    use_non_blocking_copy: bool = True


class BlockingAsyncStager(AsyncStager):
    """Copies the state before it returns.

    cache_staged_state_dict: copy into the memory of the copy before, where tensors have its sizes and types. The save
    before has to be over then.
    """

    def __init__(self, cache_staged_state_dict: bool = False, type_check: bool = False):
        self.cache_staged_state_dict, self.type_check = cache_staged_state_dict, type_check
        self._copies: list[Tensor] = []

    def stage(self, state_dict: STATE_DICT_TYPE) -> STATE_DICT_TYPE:
        """A copy of the state, on the CPU."""
        before, copies = iter(self._copies), []

        def copied(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return copy.deepcopy(value)
            with no_grad():
                memory = next(before, None)
                if memory is None or (memory.shape, memory.dtype) != (value.shape, value.dtype):
                    memory = value.detach().to("cpu", copy=True)
                else:
                    memory.copy_(value)
            copies.append(memory)
            return memory

        staged = tree_map(copied, dict(state_dict))
        if self.cache_staged_state_dict:
            self._copies = copies
        return staged


class DefaultStager(BlockingAsyncStager):
    """Copies as its options say.

    Raises AssertionError for a copy without waiting, of which a CPU has none, as in `DefaultStager()`.
    """

    def __init__(self, config: StagingOptions | None = None):
        super().__init__()
        self.config = config or StagingOptions()
        if self.config.use_non_blocking_copy:
            raise AssertionError("Non-blocking copy requires that the current accelerator is available.")
        self._thread = ThreadPoolExecutor(1, "rushlight-stage") if self.config.use_async_staging else None

    def stage(self, state_dict: STATE_DICT_TYPE) -> Future[STATE_DICT_TYPE] | STATE_DICT_TYPE:  # type: ignore[override]
        """A copy of the state, or a future of it. Until the future is done, the state must not change."""
        if self._thread is None:
            return super().stage(state_dict)
        return self._thread.submit(super().stage, state_dict)

    def close(self) -> None:
        """End the thread, when it has made its copies."""
        if self._thread is not None:
            self._thread.shutdown()
