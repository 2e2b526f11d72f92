"""`torch.distributed.rpc`: calls of functions in other processes. Its names raise NotImplementedError when they are called."""

from rushlight.distributed.absent import absent_class

__all__ = [
    "BackendType",
    "RRef",
    "TensorPipeRpcBackendOptions",
    "WorkerInfo",
    "get_worker_info",
    "init_rpc",
    "remote",
    "rpc_async",
    "rpc_sync",
    "shutdown",
]

BackendType = absent_class("rpc", "BackendType")
RRef = absent_class("rpc", "RRef")
TensorPipeRpcBackendOptions = absent_class("rpc", "TensorPipeRpcBackendOptions")
WorkerInfo = absent_class("rpc", "WorkerInfo")
get_worker_info = absent_class("rpc", "get_worker_info")
init_rpc = absent_class("rpc", "init_rpc")
remote = absent_class("rpc", "remote")
rpc_async = absent_class("rpc", "rpc_async")
rpc_sync = absent_class("rpc", "rpc_sync")
shutdown = absent_class("rpc", "shutdown")
