"""Every sample of every operator on `mirror` and on `meta`, beside the CPU."""

from contextlib import contextmanager

import pytest

from rushlight.testing.devices import check_operator
from rushlight.testing.samples import SAMPLES, function_of, samples_of

from .mirror import copies

NAMES = [name for name in SAMPLES if function_of(name) is not None]

# operators that read values: `is_nonzero` returns one; repeats, and lengths of packed sequences, decide shapes; an index
# given as a list is made on the host
READS = {"is_nonzero", "repeat_interleave", "lstm", "gru", "rnn_tanh", "rnn_relu", "Tensor.__getitem__"}


@contextmanager
def naming(name, sample):
    """Errors inside say which call it was."""
    try:
        yield
    except Exception as error:
        error.add_note(f"the call: {name}({sample!r})")
        raise


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
@pytest.mark.parametrize("name", NAMES)
def test_on_mirror(name):
    for sample in samples_of(name):
        with naming(name, sample):
            check_operator(name, sample, "mirror", within=copies if name not in READS else lambda: copies(None, None))


@pytest.mark.filterwarnings("ignore:torch.chain_matmul is deprecated")
@pytest.mark.parametrize("name", NAMES)
def test_on_meta(name):
    needs_data = ""
    for sample in samples_of(name):
        with naming(name, sample):
            try:
                check_operator(name, sample, "meta", values=False)
            except (NotImplementedError, RuntimeError) as error:
                if name not in NEEDS_DATA or not str(error).startswith(NEEDS_DATA[name]):
                    raise
                needs_data = str(error)
    assert bool(needs_data) == (name in NEEDS_DATA)


_UNKNOWN, _NO_DATA = "aten::", "Cannot copy out of meta tensor; no data!"
# what no device without data can do, and how the refusal begins
NEEDS_DATA = {
    "is_nonzero": "Tensor.item() cannot be called on meta tensors",
    "masked_select": _UNKNOWN,
    "masked_scatter": _UNKNOWN,  # its gradient
    "repeat_interleave": "cannot repeat_interleave a meta tensor without output_size",
    "segment_reduce": _UNKNOWN,
    "Tensor.__getitem__": _UNKNOWN,  # by a mask
    **dict.fromkeys(
        ["lstm", "gru", "rnn_tanh", "rnn_relu"], _NO_DATA
    ),  # of packed sequences, whose lengths torch wants on the CPU
}
