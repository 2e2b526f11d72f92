"""`torch.storage`: the memory behind tensors, as bytes (`UntypedStorage`) or as numbers of one type (`TypedStorage`)."""

import io
from typing import Any

from ..core.tensor.pickling import Memory, as_torchs
from ..core.tensor.typed_storage import *  # noqa: F403
from ..serialization import load, save


def _load_from_bytes(b: bytes) -> Any:
    """The memory that torch's own pickles name so: a file of `save` within the pickle of a tensor."""
    return load(io.BytesIO(b), weights_only=False)


def _reduce_memory(memory: Memory) -> tuple[Any, tuple[bytes]]:
    """A memory within a pickle as torch has it there: a file of `save` in the older format."""
    file = io.BytesIO()
    save(memory, file, _use_new_zipfile_serialization=False)
    return as_torchs(_load_from_bytes, "torch.storage._load_from_bytes"), (file.getvalue(),)
