"""Fourier transforms, complex numbers, draws and losses in exported networks."""

import warnings

import pytest

import rushlight as torch
import rushlight.nn.functional as F

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from tests.onnx.test_rows import Called, sample  # noqa: E402

LABELS, WEIGHT = torch.tensor([1, -100, 3, 0, 2, 1]), torch.tensor([1.0, 0.5, 2.0, 1.5])
WINDOW = torch.hann_window(12)


def spectra(x):
    half = torch.fft.rfft(x)
    return (
        half, torch.fft.rfft(x, n=6, norm="ortho"), torch.fft.rfft(x, n=10, dim=0, norm="forward"), torch.fft.fft(x, dim=-2),
        torch.fft.ifft(x, n=5), torch.fft.ifft(half, norm="ortho"), torch.fft.ihfft(x), torch.fft.irfft(half),
        torch.fft.irfft(half, n=7), torch.fft.irfft(half, n=12, norm="forward"), torch.fft.hfft(half),
        torch.fft.hfft(half, n=7, norm="ortho"),
    )  # fmt: skip


def spectra_of_planes(x):
    half = torch.fft.rfft2(x)
    return (
        half, torch.fft.fft2(x, norm="ortho"), torch.fft.ifftn(half), torch.fft.rfftn(x, s=(4, 6)), torch.fft.irfft2(half),
        torch.fft.irfftn(half, s=(6, 7), norm="ortho"), torch.fft.fftn(x, dim=(0, 2)),
    )  # fmt: skip


def complex_numbers(x):
    z = torch.view_as_complex(x.reshape(6, 4, 2))
    y = torch.complex(x[:, :4], x[:, 4:]) + 1
    return (
        z * y, z / y, z / 2, z - y, z + x[:, :4], 2 * z, -z, z.conj(), z.abs(), z.angle(), z.real, z.imag, z.exp(), z.sum(1),
        z.sum(-2, keepdim=True), z @ y.mT, torch.einsum("ab,cb->ac", z, y), z[:, 1:3], z[:, -1], z.reshape(3, -1),
        torch.cat([z, y], -1), z.unsqueeze(-1), z.permute(1, 0), torch.polar(x.abs(), x), torch.view_as_real(z * (1 + 2j)),
    )  # fmt: skip


def short_time(x):
    signal = x.reshape(2, -1)
    whole = torch.stft(signal, 16, 5, 12, WINDOW, return_complex=True)
    plain = torch.stft(signal[0], 12, window=WINDOW, center=False, normalized=True, onesided=False, return_complex=True)
    return whole, whole.abs() ** 2, plain


def norms(x):
    square = x[:, :6] + 3 * torch.eye(6)
    return (
        torch.linalg.norm(x), torch.linalg.norm(x, 1), torch.linalg.norm(x, float("-inf"), (0, 1), True),
        torch.linalg.norm(x[0], 3), torch.linalg.matrix_norm(x), torch.linalg.matrix_norm(x, float("inf")),
        torch.det(square), torch.linalg.det(square), torch.logdet(square @ square.T), *torch.linalg.slogdet(-square),
    )  # fmt: skip


def smoothed(x):
    z, shares = x[:, :4], x[:, 4:].softmax(1)
    return (
        *(F.cross_entropy(z, LABELS, WEIGHT, label_smoothing=0.1, reduction=how) for how in ("none", "mean", "sum")),
        F.cross_entropy(z, LABELS, label_smoothing=0.2), F.cross_entropy(z, LABELS.abs() % 4, label_smoothing=0.2, ignore_index=0),
        F.cross_entropy(z, shares, label_smoothing=0.1), F.cross_entropy(z, shares, WEIGHT),
        F.cross_entropy(z.reshape(2, 4, 3), LABELS.reshape(2, 3), WEIGHT, label_smoothing=0.3),
    )  # fmt: skip


CASES = {
    "spectra": spectra, "of one signal": lambda x: spectra(torch.stack([x[0], x[0]])) + (torch.fft.rfft(x[0]), torch.fft.fft(x[1])),
    "of planes": lambda x: spectra_of_planes(x.reshape(2, 4, 6)), "complex numbers": complex_numbers,
    "short-time": short_time, "norms": norms, "smoothed": smoothed,
}  # fmt: skip


def shown(t):
    return torch.view_as_real(t.resolve_conj()) if t.is_complex() else t


@pytest.mark.parametrize("opset", [18, 20])
@pytest.mark.parametrize("name", CASES)
def test_numbers(name, opset):
    x = sample(6, 8)
    model = Called(CASES[name]).eval()
    program = torch.onnx.export(model, (x,), opset_version=opset)
    onnx.checker.check_model(program.model_proto, full_check=True)
    for given in (x, x * 0.7 + 0.1):
        for theirs, ours in zip(program(given), map(shown, model(given)), strict=True):
            assert (theirs.shape, theirs.dtype) == (ours.shape, ours.dtype)
            assert torch.allclose(theirs, ours, atol=2e-5, rtol=1e-4)


def test_complex_inputs_have_a_last_dimension_of_two():
    z = torch.fft.rfft(sample(3, 6))
    program = torch.onnx.export(Called(lambda z: z * 2), (z,))
    assert [d.dim_value for d in program.model_proto.graph.input[0].type.tensor_type.shape.dim] == [3, 4, 2]
    assert torch.allclose(program(z)[0], torch.view_as_real(z * 2))


def test_spectra_of_any_batch():
    model = Called(lambda x: torch.fft.irfft(torch.fft.rfft(x) * torch.arange(5), n=8))
    program = torch.onnx.export(model, (sample(2, 8),), dynamic_shapes=({0: "n"},))
    for n in (1, 5):
        assert torch.allclose(program(sample(n, 8))[0], model(sample(n, 8)), atol=1e-5)


def drawn(x):
    return (
        torch.rand_like(x), x + torch.randn(40, 50), torch.bernoulli(torch.full_like(x, 0.25)), torch.normal(x * 0 + 3, 2.0),
        torch.randint(2, 5, (40, 50)), torch.randint_like(x, 3), torch.multinomial(torch.ones_like(x), 20, True),
    )  # fmt: skip


def test_draws_are_made_in_each_run():
    x = torch.zeros(40, 50)
    before = torch.get_rng_state()
    program = torch.onnx.export(Called(drawn), (x,), opset_version=20)
    first, second = program(x), program(x)
    for a, b, ours in zip(first, second, drawn(x), strict=True):
        assert not torch.equal(a, b) and (a.shape, a.dtype) == (ours.shape, ours.dtype)
        a, b = a.double(), ours.double()
        assert abs(a.mean() - b.mean()) < 0.1 * (1 + b.mean()) and abs(a.std() - b.std()) < 0.1 * b.std()
    assert set(first[4].unique().tolist()) == {2, 3, 4} and set(first[5].unique().tolist()) == {0, 1, 2}
    torch.set_rng_state(before)


def test_dropout_that_trains_warns():
    x = torch.ones(40, 50)
    with pytest.warns(UserWarning, match="model.eval"):
        program = torch.onnx.export(Called(lambda x: F.dropout(x, 0.25)).train(), (x,))
    out = program(x)[0]
    assert out.unique().tolist() == pytest.approx([0.0, 4 / 3]) and 0.7 < (out != 0).double().mean() < 0.8
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.onnx.export(Called(lambda x: F.dropout(x, 0.25, False)).train(), (x,))
