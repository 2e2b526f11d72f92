"""`torch.nn.modules.utils`: how layers complete an argument such as a kernel size, which programs import for their own."""

from collections.abc import Iterable
from itertools import chain, repeat

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n, name="parse"):
    """A function that gives an iterable as a tuple, and anything else `n` times.

    >>> _ntuple(3)(5)
    (5, 5, 5)
    """

    def parse(x):
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n):
    """The entries in reverse, each `n` times: `padding` of a convolution as `F.pad` wants it."""
    return tuple(chain.from_iterable(repeat(x, n) for x in reversed(t)))


def _list_with_default(out_size, defaults):
    """`out_size` with the last of `defaults` where it has None; a number stays a number.

    Raises ValueError where there are not more defaults than sizes.
    """
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    last = defaults[-len(out_size) :]
    return [default if size is None else size for size, default in zip(out_size, last, strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Take `prefix` from the keys of a state dict, in place, and from its metadata: files of models that were wrapped."""
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in list(metadata):
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)
