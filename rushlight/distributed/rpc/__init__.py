"""`torch.distributed.rpc`: calls of functions in other processes. Its names raise NotImplementedError when they are called."""
