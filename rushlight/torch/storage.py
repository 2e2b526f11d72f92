"""`torch.storage`: the memory behind tensors, as bytes (`UntypedStorage`) or as numbers of one type (`TypedStorage`)."""

import io
from typing import Any

from ..core.tensor.typed_storage import *  # noqa: F403
from ..serialization import load


def _load_from_bytes(b: bytes) -> Any:
    """The memory that torch's own pickles name so: a file of `save` within the pickle of a tensor."""
    return load(io.BytesIO(b), weights_only=False)
