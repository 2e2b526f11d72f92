"""Class paths, theirs and ours: a file names torch's classes, so that it travels both ways.

`torch.nn.modules.linear.Linear` in a file is `rushlight.nn.modules.linear.Linear` here.
"""

import sys

__all__ = ["from_torch", "quantized_storage_name", "storage_class_name", "storage_dtype_name", "to_torch"]

_SAME_THING = {
    ("rushlight.nn.modules.attention", "MultiheadAttention"): ("torch.nn.modules.activation", "MultiheadAttention"),
    ("rushlight.nn.modules.linear_cross_entropy", "LinearCrossEntropyLoss"): (
        "torch.nn.modules.loss",
        "LinearCrossEntropyLoss",
    ),
    ("rushlight.nn.modules.crossmap", "CrossMapLRN2d"): ("torch.nn.modules.normalization", "CrossMapLRN2d"),
    **{
        ("rushlight.nn.modules.lazy", f"Lazy{kind}{n}d"): (f"torch.nn.modules.{file}", f"Lazy{kind}{n}d")
        for kind, file in (
            ("Conv", "conv"),
            ("ConvTranspose", "conv"),
            ("BatchNorm", "batchnorm"),
            ("InstanceNorm", "instancenorm"),
        )
        for n in (1, 2, 3)
    },
    ("rushlight.nn.modules.lazy", "LazyLinear"): ("torch.nn.modules.linear", "LazyLinear"),
    ("rushlight.core.tensor.pickling", "rebuild_tensor_v2"): ("torch._utils", "_rebuild_tensor_v2"),
    ("rushlight.core.tensor.pickling", "rebuild_tensor_v3"): ("torch._utils", "_rebuild_tensor_v3"),
    ("rushlight.core.tensor.pickling", "rebuild_meta_tensor"): ("torch._utils", "_rebuild_meta_tensor_no_storage"),
    ("rushlight.core.tensor.pickling", "rebuild_from_type_v2"): ("torch._tensor", "_rebuild_from_type_v2"),
    ("rushlight.sparse.coo", "rebuild"): ("torch._utils", "_rebuild_sparse_tensor"),
    ("rushlight.ops.quantized.tensor", "rebuild"): ("torch._utils", "_rebuild_qtensor"),
    ("rushlight.core.tensor.layout", "get_layout"): ("torch.serialization", "_get_layout"),
    ("rushlight.nn.parameter", "_rebuild_parameter"): ("torch._utils", "_rebuild_parameter"),
    ("rushlight.nn.parameter", "_rebuild_parameter_with_state"): ("torch._utils", "_rebuild_parameter_with_state"),
    ("rushlight.core.tensor.tensor", "Tensor"): ("torch", "Tensor"),
    ("rushlight.core.tensor.size", "Size"): ("torch", "Size"),
    ("rushlight.core.device.devices", "device"): ("torch", "device"),
    ("rushlight.core.tensor.hooks", "RemovableHandle"): ("torch.utils.hooks", "RemovableHandle"),
    ("rushlight.nn.modules.parameter_containers", "ParameterList"): ("torch.nn.modules.container", "ParameterList"),
    ("rushlight.nn.modules.parameter_containers", "ParameterDict"): ("torch.nn.modules.container", "ParameterDict"),
    ("rushlight.nn.modules.pixelshuffle", "ChannelShuffle"): ("torch.nn.modules.channelshuffle", "ChannelShuffle"),
}
for _name in ("Adafactor", "Muon"):
    _SAME_THING[f"rushlight.optim.{_name.lower()}", _name] = ("torch.optim", _name)
for _name in ("no_grad", "enable_grad", "set_grad_enabled", "inference_mode"):
    _SAME_THING["rushlight.core.dispatch.mode", _name] = ("torch.autograd.grad_mode", _name)
_SAME_THING_BACK = {theirs: ours for ours, theirs in _SAME_THING.items()}
_OLD_NAMES = {
    ("torch.tensor", "_rebuild_from_type_v2"): ("torch._tensor", "_rebuild_from_type_v2"),
    ("torch.tensor", "Tensor"): ("torch", "Tensor"),
    ("torch._tensor", "Tensor"): ("torch", "Tensor"),
}

# Parts of the two packages whose insides have the same paths.
_SAME_TREE = (
    ("rushlight.nn", "torch.nn"),
    ("rushlight.optim", "torch.optim"),
    ("rushlight.utils", "torch.utils"),
    ("rushlight.autograd", "torch.autograd"),
    ("rushlight.distributed", "torch.distributed"),
    ("rushlight.distributions", "torch.distributions"),
    ("rushlight_vision", "torchvision"),
)

_STORAGES = {
    "float64": "DoubleStorage",
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "int64": "LongStorage",
    "int32": "IntStorage",
    "int16": "ShortStorage",
    "int8": "CharStorage",
    "uint8": "ByteStorage",
    "bool": "BoolStorage",
    "complex128": "ComplexDoubleStorage",
    "complex64": "ComplexFloatStorage",
}
_QUANTIZED = {"int8": "QInt8Storage", "uint8": "QUInt8Storage", "int32": "QInt32Storage", "uint4": "QUInt4x2Storage"}
_STORAGES_BACK = {name: dtype_name for table in (_STORAGES, _QUANTIZED) for dtype_name, name in table.items()}


def storage_class_name(dtype_name):
    """torch's typed storage class for a dtype; the youngest dtypes have none and are stored untyped."""
    return _STORAGES.get(dtype_name, "UntypedStorage")


def quantized_storage_name(dtype_name):
    """torch's storage class for the levels of a quantized tensor, which have this dtype."""
    return _QUANTIZED[dtype_name]


def storage_dtype_name(class_name):
    """The dtype of torch's storage class, or None where torch has no such class, or one of unsupported elements."""
    return "uint8" if class_name == "UntypedStorage" else _STORAGES_BACK.get(class_name)


def to_torch(module, name):
    """(module, qualified name) under which torch knows one of our classes or functions, or None."""
    if (module, name) in _SAME_THING:
        return _SAME_THING[module, name]
    if module == "rushlight" or _inside(module, "rushlight.ops"):
        return _public_function(module, name)
    if _inside(module, "rushlight.nn.quantization"):
        return None  # with their weights in another form than torch's classes
    for package in ("optim.lr_scheduler", "nn.functional"):  # one file each in torch
        if _inside(module, f"rushlight.{package}"):
            return f"torch.{package}", name
    for ours, theirs in _SAME_TREE:
        if _inside(module, ours):
            return theirs + module[len(ours) :], name
    return None


def _public_function(module, name):
    """An operator lives in a file of its own here; torch's users know it by its public name."""
    operator = getattr(sys.modules.get(module), name, None)
    for ours, theirs in (("rushlight.nn.functional", "torch.nn.functional"), ("rushlight", "torch")):
        if operator is not None and getattr(sys.modules.get(ours), name, None) is operator:
            return theirs, name
    return None


def from_torch(module, name):
    """(module, qualified name) of what a file calls `module.name`; names that are not torch's come back unchanged."""
    module, name = _OLD_NAMES.get((module, name), (module, name))
    if (module, name) in _SAME_THING_BACK:
        return _SAME_THING_BACK[module, name]
    if (module, name) == ("torch", "bool"):
        return "rushlight.core.tensor.dtype", "bool_"
    if module == "torch._C._nn":  # where torch keeps the operators behind nn.functional
        return "rushlight.nn.functional", name
    for ours, theirs in _SAME_TREE:
        if _inside(module, theirs):
            return ours + module[len(theirs) :], name
    if _inside(module, "torch"):
        return "rushlight" + module[len("torch") :], name
    return module, name


def _inside(module, package):
    return module == package or module.startswith(package + ".")
