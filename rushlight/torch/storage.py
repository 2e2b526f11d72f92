"""`torch.storage`: the memory behind tensors, as bytes (`UntypedStorage`) or as numbers of one type (`TypedStorage`)."""

from ..core.tensor.typed_storage import *  # noqa: F403
