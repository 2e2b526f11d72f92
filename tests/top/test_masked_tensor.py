"""`torch.masked.MaskedTensor`: what is masked takes no part, in results and in gradients. Figures and words are torch's."""

import pytest

import rushlight as torch
from rushlight.torch.masked import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of MaskedTensors is in prototype stage")
DATA = [[1.0, 2.0, -3.0], [4.0, 0.0, 6.0]]
MASK = [[True, False, True], [False, False, False]]


@pytest.fixture
def made():
    return masked_tensor(torch.tensor(DATA), torch.tensor(MASK), requires_grad=True)


def test_printing(made):
    assert (
        repr(made)
        == "MaskedTensor(\n  [\n    [  1.0000,       --,  -3.0000],\n    [      --,       --,       --]\n  ]\n)"
    )
    assert (
        repr(masked_tensor(torch.tensor([1, 2, 3]), torch.tensor([True, False, True])))
        == "MaskedTensor(\n  [1,       --, 3]\n)"
    )
    assert repr(masked_tensor(torch.tensor(1.5), torch.tensor(True))) == "MaskedTensor(  1.5000, True)"
    assert repr(masked_tensor(torch.tensor(1.5), torch.tensor(False))) == "MaskedTensor(--, False)"


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda t: t.sum(), "-2.0000, True"),
        (lambda t: t.mean(), "-1.0000, True"),
        (lambda t: torch.amax(t), "1.0000, True"),
        (lambda t: t.prod(), "-3.0000, True"),
        (lambda t: t.std(), "2.8284, True"),
        (lambda t: t.argmin(), "2.0000, True"),
        (lambda t: t.sum(1), "[ -2.0000, --]"),
        (lambda t: torch.mean(t, dim=0), "[ 1.0000, --, -3.0000]"),
        (lambda t: t.exp(), "[ [ 2.7183, --, 0.0498], [ --, --, --] ]"),
        (lambda t: t + t, "[ [ 2.0000, --, -6.0000], [ --, --, --] ]"),
        (lambda t: t * 2, "[ [ 2.0000, --, -6.0000], [ --, --, --] ]"),
        (lambda t: t < 0, "[ [False, --, True], [ --, --, --] ]"),
        (lambda t: t[:, 1:], "[ [ --, -3.0000], [ --, --] ]"),
        (lambda t: t.t()[0], "[ 1.0000, --]"),
        (lambda t: t.softmax(1), "[ [ 0.9820, --, 0.0180], [ --, --, --] ]"),
        (lambda t: torch.where(torch.tensor(DATA) > 0, t, -t), "[ [ 1.0000, --, 3.0000], [ --, --, --] ]"),
        (lambda t: t.to_sparse(), "[ [ 1.0000, --, -3.0000], [ --, --, --] ]"),
        (lambda t: (t.to_sparse_csr() * 2).to_dense(), "[ [ 2.0000, --, -6.0000], [ --, --, --] ]"),
        (lambda t: t.to_sparse().sum(), "-2.0000, True"),
    ],
)
def test_results(made, call, expected):
    assert repr(call(made)).replace(" ", "").replace("\n", "") == f"MaskedTensor({expected})".replace(" ", "")


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda t: t.sum(), [[1, None, 1], [None] * 3]),
        (lambda t: (t * t).sum(1).sum(), [[2, None, -6], [None] * 3]),
        (lambda t: t.mean(), [[0.5, None, 0.5], [None] * 3]),
        (lambda t: t.amax(), [[1, None, 0], [None] * 3]),
        (lambda t: t.view(6)[2:].sum(), [[None, None, 1], [None] * 3]),
        (lambda t: t.get_data().masked_fill(~t.get_mask(), 0).pow(2).sum(), [[2, None, -6], [None] * 3]),
        (lambda t: t.to_sparse().pow(2).to_dense().sum(), [[2, None, -6], [None] * 3]),
    ],
)
def test_gradients(made, call, expected):
    call(made).backward()
    assert is_masked_tensor(made.grad)
    kept = made.grad.to_tensor(float("nan")).flatten().tolist()
    assert [None if v != v else v for v in kept] == [v for row in expected for v in row]


def test_of_values_with_a_history():
    x = torch.tensor(DATA, requires_grad=True)
    as_masked_tensor(x, torch.tensor(MASK)).sum().backward()
    assert isinstance(x.grad, MaskedTensor)
    assert x.grad.get_mask().tolist() == MASK


def test_writes():
    t = masked_tensor(torch.tensor(DATA), torch.tensor(MASK))
    t.add_(1).mul_(t)
    assert t.to_tensor(0).tolist() == [[4, 0, 4], [0, 0, 0]]


def test_errors(made):
    mask = torch.tensor(MASK)
    with pytest.raises(ValueError, match="Input masks must match"):
        made + masked_tensor(torch.tensor(DATA), ~mask)
    with pytest.raises(TypeError, match="mask must have dtype bool"):
        masked_tensor(torch.tensor(DATA), mask.float())
    with pytest.raises(ValueError, match=r"dim\(\) must equal"):
        masked_tensor(torch.tensor(DATA), mask[0])
    with pytest.raises(TypeError, match="data must be a Tensor"):
        masked_tensor(DATA, mask)
    with pytest.raises(TypeError, match=r"torch\.complex64 is not supported in MaskedTensor"):
        masked_tensor(torch.tensor(DATA).to(torch.complex64), mask)
    with pytest.warns(UserWarning, match="cumsum is not implemented in __torch_dispatch__"), pytest.raises(TypeError):
        made.cumsum(0)
