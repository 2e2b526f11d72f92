"""`torch._dynamo.eval_frame`: what `torch.compile` makes of a module, for programs that ask by `isinstance`."""

from ...nn.modules.compiled import OptimizedModule

__all__ = ["OptimizedModule", "is_dynamo_supported"]


def is_dynamo_supported() -> bool:
    """Whether `torch.compile` compiles here: it does."""
    return True
