"""`torch._dynamo.exc`: the errors of `torch.compile` that programs catch. `Unsupported` is what cannot be captured."""

from ...compile.capture.sources import CaptureError
from ...compile.errors import BackendCompilerFailed, InvalidBackend, TorchDynamoException

__all__ = ["BackendCompilerFailed", "InvalidBackend", "TorchDynamoException", "Unsupported", "UserError"]

Unsupported = CaptureError


class UserError(TorchDynamoException):
    """What `torch.export.export` is asked for does not go with the module or its example."""
