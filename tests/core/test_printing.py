import base64
import json
import zlib
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from rushlight.core.tensor import printing
from rushlight.core.tensor.dtype import float32, float64, set_default_dtype
from rushlight.core.tensor.printing import get_printoptions, printoptions, set_printoptions, tensor_repr
from rushlight.core.tensor.tensor import Tensor, alias, wrap
from rushlight.nn.parameter import Parameter

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "printing.json").read_text())


def array_of(case):
    dtype = ml_dtypes.bfloat16 if case["dtype"] == "bfloat16" else np.dtype(case["dtype"])
    return np.frombuffer(zlib.decompress(base64.b64decode(case["data"])), dtype).reshape(case["shape"])


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: f"{case['dtype']}-{case['shape']}-{case['options']}")
def test_text_is_torchs(case):
    with printoptions(**case["options"]):
        text = tensor_repr(array_of(case), default_dtype=case["default_dtype"], **case["told"])
    assert text == case["text"]


def test_text_ignores_memory_layout():
    x = np.arange(24.0, dtype=np.float32).reshape(4, 6)
    assert tensor_repr(x.T[::-1]) == tensor_repr(x.T[::-1].copy())


def test_device_comes_first():
    text = tensor_repr(np.array([1.0]), device="cuda:0", grad_fn="AddBackward0")
    assert text == "tensor([1.], device='cuda:0', dtype=torch.float64, grad_fn=<AddBackward0>)"


def test_a_subclass_name_sets_the_indentation():
    assert (
        tensor_repr(np.eye(2, dtype=np.int64), prefix="MaskedTensor") == "MaskedTensor([[1, 0],\n              [0, 1]])"
    )


class Marked(Tensor):
    pass


class MarkedParameter(Parameter):
    pass


@pytest.mark.parametrize(
    ("cls", "text"),
    [
        (Tensor, "tensor([1., 2.])"),
        (Marked, "Marked([1., 2.])"),
        (Parameter, "Parameter containing:\ntensor([1., 2.])"),
        (MarkedParameter, "Parameter containing:\nParameter(MarkedParameter([1., 2.]))"),
    ],
)
def test_the_class_is_named(cls, text):
    x = alias(wrap(np.array([1, 2], np.float32)), cls)
    assert repr(x) == text
    assert repr(x.requires_grad_()) == text.replace("2.]", "2.], requires_grad=True")


def test_the_default_dtype_decides_what_is_named():
    x = wrap(np.array([1, 2], np.float32))
    set_default_dtype(float64)
    try:
        assert repr(x) == "tensor([1., 2.], dtype=torch.float32)"
    finally:
        set_default_dtype(float32)
    assert repr(x) == "tensor([1., 2.])"


def test_options_are_restored_even_after_an_error():
    before = get_printoptions()
    with pytest.raises(KeyError), printoptions(precision=1, sci_mode=True):
        assert get_printoptions() == {**before, "precision": 1, "sci_mode": True}
        raise KeyError
    assert get_printoptions() == before


def test_a_profile_is_refined_by_the_other_arguments():
    with printoptions():
        set_printoptions(profile="short", edgeitems=5)
        assert get_printoptions() == {
            "precision": 2, "threshold": 1000, "edgeitems": 5, "linewidth": 80, "sci_mode": None
        }  # fmt: skip
        set_printoptions(sci_mode=True)
        set_printoptions(precision=4)
        assert get_printoptions()["sci_mode"] is None


def test_classes_print_by_the_parts_of_a_tensors_text():
    """As PyTorch Geometric's `Index` does."""
    text = "Index(" + printing._tensor_str(wrap(np.array([[0, 1], [10, 2]])), 6)
    assert text == "Index([[ 0,  1],\n       [10,  2]]"
    assert printing._add_suffixes(text, ["dim_size=3"], 6) == f"{text}, dim_size=3)"
    assert (
        printing._add_suffixes(text, ["dim_size=3", "a=1"], 6, force_newline=True) == f"{text},\n      dim_size=3, a=1)"
    )
