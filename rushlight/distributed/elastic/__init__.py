"""`torch.distributed.elastic`: what programs under `torch.distributed.run` take from it."""
