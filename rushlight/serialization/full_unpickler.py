"""The unpickler of `load(weights_only=False)`: pickle itself, with torch's class paths led to ours."""

import importlib

from rushlight.core.dispatch.extension_points import namespace
from rushlight.core.tensor import dtype as dtypes
from rushlight.core.tensor.tensor import Tensor

from .names import from_torch
from .storages import storage_type

__all__ = ["full_unpickler"]


def full_unpickler(pickle_module, file, persistent_load, arguments):
    """An Unpickler of `pickle_module` on `file`; its `find_class` knows torch's names."""

    class TorchUnpickler(pickle_module.Unpickler):
        def find_class(self, module, name):
            found = _torch_special(module, name)
            if found is not None:
                return found
            ours = from_torch(module, name)
            if ours == (module, name):
                return super().find_class(module, name)
            try:
                return super().find_class(*ours)
            except (ModuleNotFoundError, AttributeError):
                return _public_name(module, name)

    unpickler = TorchUnpickler(file, **arguments)
    unpickler.persistent_load = persistent_load
    return unpickler


def _torch_special(module, name):
    """Names of torch's that are values here: storage classes, dtypes, the namespace of its operators."""
    if module in ("torch", "torch.storage") and name.endswith("Storage"):
        try:
            return storage_type(name)
        except KeyError:
            raise NotImplementedError(f"torch.load of a {name} is not implemented") from None
    if module == "torch" and name in dtypes._BY_NAME:
        return dtypes._by_name(name)
    if (module, name) in (("torch._C", "_VariableFunctionsClass"), ("torch._C", "_VariableFunctions")):
        return namespace.value
    if (module, name) == ("torch._C", "TensorBase"):
        return Tensor
    return None


def _public_name(module, name):
    """A class that lives in another file here than in torch, by the public package that shows it."""
    parts = from_torch(module, name)[0].split(".")
    for end in range(len(parts) - 1, 0, -1):
        try:
            return getattr(importlib.import_module(".".join(parts[:end])), name)
        except (ModuleNotFoundError, AttributeError):
            continue
    raise NotImplementedError(f"the file needs {module}.{name}, which Rushlight does not have")
