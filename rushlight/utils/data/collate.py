"""Collation: a list of samples becomes a batch."""

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence

import numpy as np

from rushlight import ops
from rushlight.core.tensor.dtype import float64
from rushlight.core.tensor.tensor import Tensor, wrap

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

np_str_obj_array_pattern = re.compile(r"[SaUO]")

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_collate(batch):
    """Stack the samples of a batch along a new first dimension, inside whatever containers they have.

    tensors and arrays (*) -> tensor (N, *); float -> float64 tensor (N,); int and bool -> tensor (N,);
    str and bytes -> the list itself; mappings, named tuples and sequences -> the same container (a tuple: a list)
    of collated members.

    Samples of different shapes raise RuntimeError, other types TypeError. `default_collate_fn_map` may be extended.

    >>> default_collate([(0, "a"), (2, "b")])
    [tensor([0, 2]), ('a', 'b')]
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def collate(batch, *, collate_fn_map: dict[type | tuple[type, ...], Callable] | None = None):
    """Collate by the function that `collate_fn_map` holds for the samples' type, else member by member.

    An exact type is looked up first, then the first key of which the sample is an instance. The functions are called
    as `function(batch, collate_fn_map=collate_fn_map)`.
    """
    sample = batch[0]
    function = _collate_function(sample, collate_fn_map or {})
    if function is not None:
        return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(sample, Mapping):
        members = {key: [other[key] for other in batch] for key in sample}
        collated = {key: collate(members[key], collate_fn_map=collate_fn_map) for key in members}
        return _mapping_like(sample, collated)
    if _is_namedtuple(sample):
        return type(sample)(*(collate(m, collate_fn_map=collate_fn_map) for m in zip(*batch, strict=False)))
    if isinstance(sample, Sequence):
        if any(len(other) != len(sample) for other in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        collated = [collate(m, collate_fn_map=collate_fn_map) for m in zip(*batch, strict=True)]
        return collated if isinstance(sample, tuple) else _sequence_like(sample, collated)
    raise TypeError(default_collate_err_msg_format.format(type(sample)))


def _collate_function(sample, collate_fn_map):
    function = collate_fn_map.get(type(sample))
    if function is not None:
        return function
    return next((function for kind, function in collate_fn_map.items() if isinstance(sample, kind)), None)


def collate_tensor_fn(batch, *, collate_fn_map=None):
    return wrap(_stack_arrays(batch)) if _are_plain(batch) else ops.stack(tuple(batch), 0)


def _are_plain(batch) -> bool:
    """Tensors of one shape (1-d to 3-d) and dtype, without a gradient: their arrays can be stacked as they are."""
    first = batch[0]._array
    return (
        type(first) is np.ndarray
        and 0 < first.ndim < 4  # channels-last images stay so
        and all(
            type(tensor) is Tensor
            and tensor._array.shape == first.shape
            and tensor._array.dtype == first.dtype
            and not tensor.requires_grad
            for tensor in batch
        )
    )


def _stack_arrays(batch) -> np.ndarray:
    # Half the time of np.stack for four CIFAR images. `out`, because the result must be contiguous whatever they are.
    arrays = [tensor._array for tensor in batch]
    first = arrays[0]
    out = np.empty((len(arrays), *first.shape), first.dtype)
    np.concatenate(arrays, out=out.reshape(len(arrays) * first.shape[0], *first.shape[1:]))
    return out


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    if np_str_obj_array_pattern.search(batch[0].dtype.str) is not None:
        raise TypeError(default_collate_err_msg_format.format(batch[0].dtype))
    return collate([ops.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    return ops.as_tensor(np.asarray(batch))


def collate_float_fn(batch, *, collate_fn_map=None):
    if set(map(type, batch)) == {float}:
        return wrap(np.array(batch, np.float64))
    return ops.tensor(batch, dtype=float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    try:
        if set(map(type, batch)) == {int}:
            return wrap(np.array(batch, np.int64))
    except OverflowError:
        pass  # ops.tensor says what torch says
    return ops.tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    return batch


default_collate_fn_map: dict[type | tuple[type, ...], Callable] = {
    Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_convert(data):
    """Turn the NumPy arrays and numbers in `data` into tensors, inside whatever containers they have (no batching).

    >>> default_convert([np.array([0, 1]), "a"])
    [tensor([0, 1]), 'a']
    """
    if isinstance(data, Tensor):
        return data
    if type(data).__module__ == "numpy" and type(data).__name__ != "str_":
        is_text = isinstance(data, np.ndarray) and np_str_obj_array_pattern.search(data.dtype.str) is not None
        return data if is_text else ops.as_tensor(data)
    if isinstance(data, Mapping):
        return _mapping_like(data, {key: default_convert(data[key]) for key in data})
    if _is_namedtuple(data):
        return type(data)(*(default_convert(member) for member in data))
    if isinstance(data, tuple):
        return [default_convert(member) for member in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _sequence_like(data, [default_convert(member) for member in data])
    return data


def _is_namedtuple(data) -> bool:
    return isinstance(data, tuple) and hasattr(data, "_fields")


def _mapping_like(data: Mapping, members: dict):
    """A mapping of data's type with other members: a copy keeps what else the type holds. A plain dict if it cannot."""
    try:
        if not isinstance(data, MutableMapping):
            return type(data)(members)  # type: ignore[call-arg]
        clone = copy.copy(data)
        clone.update(members)
        return clone
    except TypeError:
        return members


def _sequence_like(data: Sequence, members: list):
    """A sequence of data's type with other members, or a plain list where the type does not allow it (`range`)."""
    try:
        if not isinstance(data, MutableSequence):
            return type(data)(members)  # type: ignore[call-arg]
        clone = copy.copy(data)
        for i, member in enumerate(members):
            clone[i] = member
        return clone
    except TypeError:
        return members
