"""The safetensors format, under the names of `safetensors.torch`: a flat dict of tensors, without any code.

The `safetensors` package reads the format, with its checks of lengths; this file leads its arrays into tensors. It writes by
itself, from the tensors' own memory: the package takes bytes and gives the bytes of a file, two copies of a checkpoint.
"""

import io
import json
import os
import struct
import zlib

import numpy as np

from rushlight.core.device import devices
from rushlight.core.tensor import dtype as dtypes
from rushlight.core.tensor.pickling import memory_of
from rushlight.core.tensor.tensor import Tensor, wrap

from .atomic import atomic_write
from .storages import typed

__all__ = ["load", "load_file", "load_model", "safe_open", "save", "save_file", "save_model"]

_DTYPES = {
    "F64": dtypes.float64,
    "F32": dtypes.float32,
    "F16": dtypes.float16,
    "BF16": dtypes.bfloat16,
    "I64": dtypes.int64,
    "I32": dtypes.int32,
    "I16": dtypes.int16,
    "I8": dtypes.int8,
    "U64": dtypes.uint64,
    "U32": dtypes.uint32,
    "U16": dtypes.uint16,
    "U8": dtypes.uint8,
    "F8_E4M3": dtypes.float8_e4m3fn,
    "F8_E5M2": dtypes.float8_e5m2,
    "F8_E8M0": dtypes.float8_e8m0fnu,
    "F8_E4M3FNUZ": dtypes.float8_e4m3fnuz,
    "F8_E5M2FNUZ": dtypes.float8_e5m2fnuz,
    "BOOL": dtypes.bool_,
    "C64": dtypes.complex64,
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}


def save(tensors, metadata=None):
    """The bytes of a safetensors file.

    tensors: dict of name -> contiguous tensor, no two of which share memory. metadata: dict of str -> str. A checksum of
    each tensor is added to it, which the format does not have; loading checks it.

    Raises ValueError for what is no tensor or not contiguous, RuntimeError for shared memory.
    """
    file = io.BytesIO()
    write(file, tensors, metadata)
    return file.getvalue()


def save_file(tensors, filename, metadata=None):
    """As `save`, into a file, which is replaced at once when everything is written and else left unchanged."""
    _check_tensors(tensors)
    with atomic_write(filename, sum(t._array.nbytes for t in tensors.values())) as file:
        _write(file, tensors, metadata)


def write(file, tensors, metadata=None):
    """As `save`, into an open binary file; the tensors' memory is not copied."""
    _check_tensors(tensors)
    _write(file, tensors, metadata)


def _write(file, tensors, metadata):
    names = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))  # so that numbers are aligned
    table: dict = {"__metadata__": _with_checksums(tensors, metadata)}
    at = 0
    for name in names:
        array, end = tensors[name]._array, at + tensors[name]._array.nbytes
        table[name] = {"dtype": _name_of(tensors[name]), "shape": list(array.shape), "data_offsets": [at, end]}
        at = end
    header = json.dumps(table, separators=(",", ":"), ensure_ascii=False).encode()
    header += b" " * (-len(header) % 8)
    file.write(struct.pack("<Q", len(header)) + header)
    for name in names:
        file.write(memoryview(tensors[name]._array.reshape(-1).view(np.uint8)))


def _name_of(tensor):
    if tensor.dtype not in _NAMES:
        from safetensors import SafetensorError

        raise SafetensorError(
            f'Unknown dtype "{tensor.dtype.name}". Supported dtypes: {", ".join(d.name for d in _NAMES)}'
        )
    return _NAMES[tensor.dtype]


def load(data):
    """The dict of tensors in the bytes of a safetensors file. Raises SafetensorError for bytes that are none."""
    from safetensors import deserialize

    entries = deserialize(data)
    (size,) = struct.unpack_from("<Q", data)
    checksums = _Checksums(json.loads(bytes(data[8 : 8 + size])).get("__metadata__"))
    for name, entry in entries:
        checksums.check(name, entry["data"])
    return {name: _from_bytes(entry) for name, entry in entries}


def load_file(filename, device="cpu", *, backend="mmap"):
    """The dict of tensors in a safetensors file. Raises SafetensorError for a file that is truncated or altered."""
    with safe_open(filename, framework="pt", device=device, backend=backend) as file:
        return file.get_tensors()


class safe_open:
    """Opens a safetensors file without reading its tensors.

    framework: "pt" for tensors, "np" for NumPy arrays. device: "cpu". backend: "mmap" or "pread".

    `keys()`, `offset_keys()`, `metadata()`, `get_tensor(name)`, `get_tensors()`, `get_slice(name)`, whose result is
    indexed to read a part.
    """

    def __init__(self, filename, framework, device="cpu", *, backend="mmap"):
        from safetensors import safe_open as open_arrays

        if framework not in ("pt", "torch", "pytorch", "np", "numpy"):
            raise ValueError(f"framework {framework!r} is not supported; use 'pt' or 'np'")
        self._device = device
        devices.check(device)
        self._as_tensor = self._placed if framework in ("pt", "torch", "pytorch") else lambda array: array
        self._filename = os.fspath(filename)
        self._file = open_arrays(self._filename, framework="np", backend=backend)
        self._checksums = _Checksums(self._file.metadata())

    def _placed(self, array):
        return _from_array(array).to(self._device)

    def __enter__(self):
        self._file.__enter__()
        return self

    def __exit__(self, *exc_info):
        self._file.__exit__(*exc_info)

    def keys(self):
        """The names of the tensors."""
        return self._file.keys()

    def offset_keys(self):
        """The names of the tensors in the order of their place in the file."""
        return self._file.offset_keys()

    def metadata(self):
        """The file's dict of texts, without Rushlight's checksums, or None."""
        return self._checksums.metadata

    def get_tensor(self, name):
        """The tensor of that name. Raises SafetensorError where it does not have the checksum that the file promises."""
        array = self._array(name)
        self._checksums.check(name, np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        return self._as_tensor(array)

    def get_tensors(self):
        """All tensors, as a dict."""
        names = self._file.keys()
        return {name: self.get_tensor(name) for name in names}

    def get_slice(self, name):
        """A part of the tensor to be read by indexing, with `get_shape()` and `get_dtype()`. No checksum is checked."""
        part = self._file.get_slice(name)
        return _Slice(part, self._as_tensor, self._array(name) if _is_only_ours(part) else part)

    def _array(self, name):
        part = self._file.get_slice(name)
        if not _is_only_ours(part):
            return self._file.get_tensor(name)
        with open(self._filename, "rb") as file:  # whose table the package has checked
            (size,) = struct.unpack("<Q", file.read(8))
            start, stop = json.loads(file.read(size))[name]["data_offsets"]
            file.seek(8 + size + start)
            raw = np.frombuffer(file.read(stop - start), np.uint8)
        return raw.view(_DTYPES[part.get_dtype()].numpy).reshape(part.get_shape())


def _is_only_ours(part):
    """Whether a tensor is of a type that the package looks for in NumPy, which does not have it."""
    return part.get_dtype().startswith("F8") and part.get_dtype() in _DTYPES


class _Slice:
    def __init__(self, part, as_tensor, array):
        self._part = part
        self._as_tensor = as_tensor
        self._array = array

    def __getitem__(self, index):
        return self._as_tensor(self._array[index])

    def get_shape(self):
        """The shape of the whole tensor."""
        return self._part.get_shape()

    def get_dtype(self):
        """The format's word for the element type, such as 'F32'."""
        return self._part.get_dtype()


def save_model(model, filename, metadata=None, force_contiguous=True):
    """Save a module's state; of names that share memory one is kept, and the others are noted in the metadata."""
    state = dict(model.state_dict())
    for kept, dropped in _duplicate_names(state).items():
        for name in dropped:
            metadata = {name: kept, **(metadata or {})}
            del state[name]
    if force_contiguous:
        state = {name: tensor.contiguous() for name, tensor in state.items()}
    try:
        save_file(state, filename, metadata=metadata)
    except ValueError as error:
        raise ValueError(
            f"{error} Or use save_model(..., force_contiguous=True), read the docs for potential caveats."
        ) from error


def load_model(model, filename, strict=True, device="cpu", *, backend="mmap"):
    """Load what `save_model` saved into a module. Returns (missing, unexpected) names; with `strict` they raise."""
    state = load_file(filename, device=device, backend=backend)
    duplicates = _duplicate_names(dict(model.state_dict()), preferred=state.keys())
    missing, unexpected = model.load_state_dict(state, strict=False)
    missing, unexpected = set(missing), list(unexpected)
    for dropped in duplicates.values():
        unexpected += [name for name in dropped if name not in missing]
        missing.difference_update(dropped)
    if strict and (missing or unexpected):
        raise RuntimeError(_strict_message(type(model).__name__, missing, unexpected))
    return missing, unexpected


def _strict_message(class_name, missing, unexpected):
    message = f"Error(s) in loading state_dict for {class_name}:"
    for kind, names in (("Missing", missing), ("Unexpected", unexpected)):
        if names:
            quoted = ", ".join(f'"{name}"' for name in sorted(names))
            message += f"\n    {kind} key(s) in state_dict: {quoted}"
    return message


# -------------------------------------------------------------------- checksums

_CHECKSUMS = "rushlight_crc32"


def _with_checksums(tensors, metadata):
    """The metadata with one more text: the CRC-32 of each tensor, and whether there was no other metadata.

    Libraries that refuse metadata without a "format" get that, too.
    """
    crcs = {name: zlib.crc32(tensor._array.reshape(-1).view(np.uint8)) for name, tensor in tensors.items()}
    note = json.dumps({"alone": metadata is None, "crc32": crcs}, separators=(",", ":"))
    return {**({"format": "pt"} if metadata is None else metadata), _CHECKSUMS: note}


class _Checksums:
    """The checksums in a file's metadata, if it has any, and the metadata without them."""

    def __init__(self, metadata):
        self.metadata, self._promised = metadata, {}
        if metadata is None or _CHECKSUMS not in metadata:
            return
        self.metadata = {key: text for key, text in metadata.items() if key != _CHECKSUMS}
        try:
            note = json.loads(metadata[_CHECKSUMS])
            self._promised = dict(note["crc32"])
            if note["alone"]:
                self.metadata = None
        except (ValueError, TypeError, LookupError, RecursionError) as error:
            raise _altered(f"its checksums cannot be read ({error})") from error

    def check(self, name, data):
        """Raise where the bytes of a tensor have another checksum than the file promises."""
        if name in self._promised and zlib.crc32(data) != self._promised[name]:
            raise _altered(f"tensor {name!r} has checksum {zlib.crc32(data)} (CRC-32), not {self._promised[name]}")


def _altered(facts):
    from safetensors import SafetensorError

    return SafetensorError(f"the file is corrupted: {facts}. It was not transferred completely, or was modified.")


# -------------------------------------------------------------------- tensors and the package's arrays


def _check_tensors(tensors):
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
        if name == "__metadata__":
            raise ValueError("Key `__metadata__` is invalid: it is the format's own")
    shared = [names for names in sharing_names(tensors) if len(names) > 1]
    if shared:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential differences when "
            f"loading them again: {shared}. A potential way to correctly save your model is to use `save_model`. "
            "More information at https://huggingface.co/docs/safetensors/torch_shared_tensors"
        )
    for name, tensor in tensors.items():
        if not tensor._array.flags.c_contiguous:
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It either means you "
                "are trying to save tensors which are reference of each other in which case it's recommended to save "
                "only the full tensors, and reslice at load time, or simply call `.contiguous()` on your tensor to "
                "pack it before saving."
            )


BYTES = dtypes.uint8


def storable(tensor):
    """A contiguous tensor on the CPU that the format can hold: of a type that it does not have, the bytes."""
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    if tensor.dtype in _NAMES:
        return tensor
    return wrap(tensor._array.reshape(-1).view(np.uint8).reshape(*tensor._array.shape, tensor.dtype.itemsize))


def stored_as(dtype, size):
    """(the format's word for the type, size as a list) that `storable` gives to a tensor."""
    return (_NAMES[dtype], list(size)) if dtype in _NAMES else ("U8", [*size, dtype.itemsize])


def restored(tensor, dtype, size):
    """The tensor of which `storable` gave this one."""
    if dtype in _NAMES:
        return tensor
    return wrap(tensor._array.reshape(-1).view(dtype.numpy).reshape(size))


def _from_array(array):
    array = np.require(array, requirements=("C", "W", "A"))
    if array.dtype.kind == "b":
        typed(array.reshape(-1).view(np.uint8), dtypes.bool_)
    return wrap(array)


def _from_bytes(entry):
    try:
        dtype = _DTYPES[entry["dtype"]]
    except KeyError:
        raise NotImplementedError(f"loading a safetensors tensor of type {entry['dtype']} is not implemented") from None
    raw = np.frombuffer(entry["data"], np.uint8) if len(entry["data"]) else np.empty(0, np.uint8)
    return _from_array(raw.view(dtype.numpy).reshape(entry["shape"]))


# -------------------------------------------------------------------- which names share memory


def _start(tensor):
    return tensor._array.__array_interface__["data"][0]


def _end(tensor):
    array = tensor._array
    return _start(tensor) + sum((n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)) + array.itemsize


def sharing_names(tensors):
    """The names in groups, sorted: in one group are tensors of one storage that overlap."""
    by_storage = {}
    for name, tensor in tensors.items():
        if tensor._array.size:
            flat = memory_of(tensor)[0].flat
            by_storage.setdefault((flat.__array_interface__["data"][0], flat.nbytes), []).append(name)
    groups = []
    for names in by_storage.values():
        groups += _overlapping(sorted(names, key=lambda name: (_start(tensors[name]), _end(tensors[name]))), tensors)
    return [sorted(group) for group in groups]


def _overlapping(names, tensors):
    groups, stop = [], None
    for name in names:
        if stop is not None and _start(tensors[name]) < stop:
            groups[-1].append(name)
        else:
            groups.append([name])
        stop = max(stop or 0, _end(tensors[name]))
    return groups


def _duplicate_names(tensors, preferred=()):
    """name to keep -> names that share its memory; the kept one covers the whole storage."""
    duplicates = {}
    for names in sharing_names(tensors):
        if len(names) == 1:
            continue
        complete = [name for name in names if tensors[name]._array.nbytes == memory_of(tensors[name])[0].nbytes()]
        if not complete:
            raise RuntimeError(
                "Error while trying to find names to remove to save state dict, but found no suitable name to keep for "
                f"saving amongst: {set(names)}. None is covering the entire storage. Refusing to save/load the model "
                "since you could be storing much more memory than needed. Please refer to "
                "https://huggingface.co/docs/safetensors/torch_shared_tensors for more information."
            )
        kept = next((name for name in complete if name in preferred), complete[0])
        duplicates[kept] = [name for name in names if name != kept]
    return duplicates
