"""`torch.distributed.algorithms.join`: training with unequal numbers of batches."""

from ...nn.parallel.join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
