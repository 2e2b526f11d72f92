"""Modules whose forward is run again for backward: `torch.distributed.algorithms._checkpoint`."""
