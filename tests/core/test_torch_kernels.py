"""Types of elements that torch's kernels lack, and what its messages call those kernels."""

import pytest

import rushlight as torch
import rushlight.nn.functional as F

Z = torch.tensor([1 + 2j, -3j, 0])
Z4 = torch.ones(1, 1, 4, 4, dtype=torch.complex64)
B = torch.tensor([True, False])
I = torch.tensor([1, 2])
H = torch.ones(2, dtype=torch.float16)
CALLS = {
    "\"lt_cpu\" not implemented for 'ComplexFloat'": lambda: Z < Z,
    "\"ge_cpu\" not implemented for 'ComplexFloat'": lambda: Z >= 1,
    "\"gt_cpu\" not implemented for 'ComplexDouble'": lambda: Z.to(torch.complex128).gt_(Z),
    "\"cummax_cpu\" not implemented for 'ComplexFloat'": lambda: Z.cummax(0),
    "\"lgamma_vml_cpu\" not implemented for 'ComplexFloat'": lambda: Z.lgamma(),
    "\"erf_vml_cpu\" not implemented for 'ComplexFloat'": lambda: Z.erf(),
    "\"mse_cpu\" not implemented for 'ComplexFloat'": lambda: F.mse_loss(Z, Z),
    "\"GeluKernelImpl\" not implemented for 'ComplexFloat'": lambda: F.gelu(Z),
    "\"max_pool2d\" not implemented for 'ComplexFloat'": lambda: F.max_pool2d(Z4, 2),
    "\"avg_pool2d\" not implemented for 'ComplexFloat'": lambda: F.avg_pool2d(Z4, 2),
    "\"nll_loss_out_frame\" not implemented for 'Long'": lambda: F.nll_loss(I[None], I[:1]),
    "\"prelu_cpu\" not implemented for 'Long'": lambda: F.prelu(I, I[:1]),
    "\"pow\" not implemented for 'Bool'": lambda: B.pow(B),
    "\"trace\" not implemented for 'Bool'": lambda: torch.ones(2, 2, dtype=torch.bool).trace(),
    "\"zeta_cpu\" not implemented for 'Half'": lambda: torch.special.zeta(H, H),
    "\"div_floor_cpu\" not implemented for 'ComplexFloat'": lambda: Z // 2,
    "\"div_trunc_cpu\" not implemented for 'ComplexFloat'": lambda: torch.div(Z, Z, rounding_mode="trunc"),
    "\"repeat_interleave_cpu\" not implemented for 'Float'": lambda: torch.ones(2).repeat_interleave(torch.ones(2)),
    "signbit is not implemented for complex tensors.": lambda: Z.signbit(),
    "argmax(): does not support complex input": lambda: Z.argmax(),
    "max(): does not support complex input": lambda: Z.max(0),
    "rad2deg is not supported for complex tensors.": lambda: Z.rad2deg(),
    "topk does not support bool dtypes on CPU": lambda: B.topk(1),
}


@pytest.mark.parametrize("message", CALLS)
def test_lacking_types_raise(message):
    with pytest.raises((NotImplementedError, RuntimeError)) as caught:
        CALLS[message]()
    assert str(caught.value) == message
    assert isinstance(caught.value, NotImplementedError) == ("implemented" in message)


def test_shapes_are_checked_first():
    with pytest.raises(RuntimeError, match=r"size of tensor a \(3\) must match the size of tensor b \(4\)"):
        _ = Z.lt(torch.ones(4, dtype=torch.complex64))


def test_other_types_go_on():
    assert (I < 2).tolist() == [True, False]
    assert torch.equal(F.threshold(I, 1, 0), torch.tensor([0, 2]))
    assert (H < H).tolist() == [False, False]


def test_repeats():
    w = torch.arange(3)
    assert torch.repeat_interleave(torch.tensor([1, 2], dtype=torch.int32)).dtype is torch.int32
    for wrong, said in ((-1, "Repeats must be non-negative"), (torch.tensor([-1, 0, 1]), "can not be negative")):
        with pytest.raises(RuntimeError, match=said):
            w.repeat_interleave(wrong)
    with pytest.raises(RuntimeError, match="0-dim or 1-dim"):
        w.repeat_interleave(torch.tensor([[1, 2, 3]]))
    with pytest.raises(TypeError, match=r"repeat_interleave\(\) received an invalid .* got \(list\)"):
        w.repeat_interleave([1, 2, 3])


def test_powers_of_bools_are_bools():
    assert (B**True).tolist() == [True, False]
    assert (B**False).tolist() == [True, True]
    assert B.clip(0.5, 0.75).tolist() == [0.75, 0.5]
