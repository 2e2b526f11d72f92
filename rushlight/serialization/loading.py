"""`load`: the object that `save`, here or in torch, wrote."""

import io
import os
import pickle
import re
import sys
import warnings
from typing import Any

import numpy as np

from rushlight.core.dispatch.extension_points import namespace
from rushlight.core.tensor.pickling import Memory

from . import legacy
from .allowlist import find_safe
from .full_unpickler import full_unpickler
from .storages import check_saved_id, location_restorer, same_dtype, typed
from .unpickler import SafeUnpickler, modern_path
from .zip_format import ZipReader, is_zip

__all__ = ["ArchivedStorages", "get_unsafe_globals_in_checkpoint", "load"]

_UNSAFE = (
    "Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary "
    "code execution. Do it only if you got the file from a trusted source."
)


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load an object that `save`, or torch's, wrote.

    f: a path, or a seekable binary file. map_location: where the storages go (None: where they were saved from), a
    string, a device, a dict of location tags, or a callable (storage, tag) -> storage or None.
    weights_only: True, the default, loads tensors, containers and what `add_safe_globals` allowed and executes nothing
    else; False runs whatever the pickle asks for. mmap: map the storages into memory instead of reading them; writes
    to the tensors do not reach the file. pickle_load_args: for pickle's Unpickler, with weights_only=False.

    Raises pickle.UnpicklingError for what a weights-only load refuses, RuntimeError for an archive that is truncated or
    altered or whose tensors do not fit their storages.

    >>> import io
    >>> from rushlight.serialization import save
    >>> file = io.BytesIO()
    >>> save([1, 2.5], file)
    >>> load(io.BytesIO(file.getvalue()))
    [1, 2.5]
    """
    is_path = isinstance(f, (str, bytes, os.PathLike))
    weights_only = _effective_weights_only(weights_only, pickle_module, pickle_load_args)
    make_unpickler = _unpickler_maker(weights_only, pickle_module, pickle_load_args)
    if is_path and os.fsdecode(f).endswith(".safetensors"):
        return _load_safetensors(f, map_location)
    if mmap and not is_path:
        raise ValueError("f must be a file path in order to use the mmap argument")
    file = open(f, "rb") if is_path else _seekable(f)  # noqa: SIM115 (the caller's own file stays open)
    try:
        return _load(file, map_location, make_unpickler, weights_only, bool(mmap))
    except pickle.UnpicklingError as error:
        if not weights_only:
            raise
        raise pickle.UnpicklingError(_advice(str(error))) from error.__cause__
    finally:
        if is_path:
            file.close()


def _load(file, map_location, make_unpickler, weights_only, mmap):
    if is_zip(file):
        start = file.tell()
        archive = ZipReader(file)
        file.seek(start)
        return _load_zip(archive, file, map_location, make_unpickler, weights_only, mmap)
    if mmap:
        raise RuntimeError(
            "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True)`, please "
            "torch.save your checkpoint with this option in order to use mmap."
        )
    return legacy.load(file, location_restorer(map_location), make_unpickler, weights_only)


def _load_program(file, map_location):
    warnings.warn(
        "'torch.load' received a zip file that looks like a TorchScript archive dispatching to 'torch.jit.load' (call "
        "'torch.jit.load' directly to silence this warning)",
        stacklevel=5,
    )
    assert namespace.value is not None
    return namespace.value.jit.load(file, map_location)


def _load_zip(archive, file, map_location, make_unpickler, weights_only, mmap):
    if "constants.pkl" in archive:
        if weights_only:
            raise RuntimeError(
                f"Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. {_UNSAFE}"
            )
        return _load_program(file, map_location)
    restore = location_restorer(map_location)
    storages = ArchivedStorages(archive, restore, _map_file(file) if mmap else None)
    return make_unpickler(io.BytesIO(archive.read("data.pkl")), storages.persistent_load).load()


def _map_file(file):
    from mmap import ACCESS_COPY, mmap

    return np.frombuffer(mmap(file.fileno(), 0, access=ACCESS_COPY), np.uint8)


class ArchivedStorages:
    """The storages of one archive, each read when the pickle first names it."""

    def __init__(self, archive, restore, mapped, folder="data"):
        self._archive = archive
        self._folder = folder
        self._restore = restore
        self._mapped = mapped  # the whole file as a flat array, or None
        self._swapped = archive.read("byteorder").decode() != sys.byteorder if "byteorder" in archive else False
        self._loaded = {}

    def persistent_load(self, saved_id):
        """The memory for ("storage", StorageType, key, location, number of elements)."""
        kind, key, location, numel = check_saved_id(saved_id, 5)
        if key not in self._loaded:
            memory = Memory(self._read(f"{self._folder}/{key}", kind.dtype, numel))
            self._loaded[key] = self._restore(memory, location)
        return same_dtype(self._loaded[key], kind.dtype, key)

    def _read(self, name, dtype, numel):
        size, expected = self._archive.size(name), numel * dtype.itemsize
        if size != expected:
            raise RuntimeError(
                f"storage record {name!r} holds {size} bytes, but {numel} elements of {dtype} take {expected}; "
                "the file is corrupted"
            )
        if self._mapped is None:
            raw = self._archive.read_array(name)
        else:
            start = self._archive.offset(name)
            raw = self._mapped[start : start + size]
            self._archive.verify(name, raw)  # reads the record once, at 1 to 3 GB/s; the pages stay the system's
            raw = raw.copy() if start % dtype.itemsize else raw  # kernels expect aligned elements
        return typed(raw, dtype, self._swapped)


def get_unsafe_globals_in_checkpoint(f):
    """The classes and functions that a file of `save`'s names and a weights-only load would refuse, as full paths.

    The pickle is read, not run. Raises ValueError for a file of another kind.
    """
    is_path = isinstance(f, (str, bytes, os.PathLike))
    file = open(f, "rb") if is_path else f  # noqa: SIM115 (the caller's own file stays open)
    try:
        if not is_zip(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        named = _globals_named_in(ZipReader(file).read("data.pkl"))
    finally:
        if is_path:
            file.close()
    return [path for path in sorted(named) if find_safe(path) is None]


def _globals_named_in(data):
    from pickletools import genops

    paths, texts, memo = set(), [], {}
    for opcode, argument, _ in genops(data):
        if opcode.name == "GLOBAL":
            module, _, name = str(argument).partition(" ")
            paths.add(".".join(modern_path(module, name)))
        elif opcode.name == "STACK_GLOBAL":
            module, name = texts[-2:]
            paths.add(".".join(modern_path(module, name)))
        elif opcode.name == "MEMOIZE" or "PUT" in opcode.name:
            memo[len(memo) if argument is None else argument] = texts[-1] if texts else ""
        elif "GET" in opcode.name:
            texts.append(memo[argument])
        elif isinstance(argument, str):
            texts.append(argument)
    return paths


# -------------------------------------------------------------------- which unpickler


def _effective_weights_only(weights_only, pickle_module, pickle_load_args):
    forced = _environment_says("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    forced_off = _environment_says("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    if forced and forced_off:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be set, but both "
            "were set."
        )
    if weights_only is None and forced_off and not forced:
        warnings.warn(
            "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the `weights_only` argument was not "
            "explicitly passed to `torch.load`, forcing weights_only=False.",
            stacklevel=3,
        )
        return False
    weights_only = forced or (pickle_module is None if weights_only is None else bool(weights_only))
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=3)
    return weights_only


def _environment_says(name):
    return os.environ.get(name, "0").lower() in ("1", "y", "yes", "true")


def _unpickler_maker(weights_only, pickle_module, pickle_load_args):
    """A function (file, persistent_load) -> unpickler."""
    arguments = {"encoding": "utf-8", **pickle_load_args}
    if weights_only:
        if unknown := arguments.keys() - {"encoding"}:
            raise TypeError(f"Unpickler.__init__() got an unexpected keyword argument '{min(unknown)}'")
        return lambda file, load: SafeUnpickler(file, load, encoding=arguments["encoding"])
    return lambda file, load: full_unpickler(pickle_module or pickle, file, load, arguments)


def _advice(message):
    if re.search(r"GLOBAL (\S+) was not an allowed global by default", message):
        return (
            "Weights only load failed. This file can still be loaded, to do so you have two options, do those steps "
            f"only if you trust the source of the checkpoint.\n\t(1) {_UNSAFE}\n\t(2) Alternatively, to load with "
            "`weights_only=True` please check the recommended steps in the following error message.\n"
            f"\tWeightsUnpickler error: {message}"
        )
    return f"Weights only load failed. {_UNSAFE}\nWeightsUnpickler error: {message}"


# -------------------------------------------------------------------- what may be loaded from


def _seekable(f):
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        raise type(error)(
            f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data into a buffer "
            "like io.BytesIO and try to load from it instead."
        ) from None
    return f


def _load_safetensors(path, map_location):
    from .safetensors import load_file

    if map_location is not None and not isinstance(map_location, (str, bytes)) and not hasattr(map_location, "type"):
        raise RuntimeError(
            f"Loading safetensors file with {'dict' if isinstance(map_location, dict) else 'callable'} map_location is "
            "not supported. Use a device string or torch.device instead."
        )
    device = map_location.decode() if isinstance(map_location, bytes) else map_location
    return load_file(path, device="cpu" if device is None else str(device))
