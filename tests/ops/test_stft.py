"""Short-time Fourier transforms: what the recorded expressions leave out."""

import pytest

import rushlight as torch


def test_windows_that_begin_with_the_signal():
    x, window = torch.arange(12.0).sin(), torch.tensor([1.0, 2.0, 3.0, 2.0])
    result = torch.stft(x, 8, 3, 4, window, center=False, return_complex=True, align_to_window=True)
    pieces = torch.stack([torch.nn.functional.pad(x[i : i + 4] * window, (2, 2)) for i in (0, 3, 6)])
    assert result.shape == (5, 3)  # (5, 2) where the pieces' 8 points have to fit into the signal
    torch.testing.assert_close(result, torch.fft.rfft(pieces).T)
    with pytest.raises(
        RuntimeError, match=r"sizes \[1, 5, 9\], strides \[16, 2, 1\].* of size 64"
    ):  # torch's own fault
        torch.stft(x, 9, 2, 4, window, center=False, return_complex=True, align_to_window=True)
    with pytest.raises(RuntimeError, match="align_to_window should only be set when center = false"):
        torch.stft(x, 8, 3, 4, window, return_complex=True, align_to_window=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: torch.stft(torch.ones(2, 16), 4, window=torch.ones(3), return_complex=True),
            "stft(torch.FloatTensor[2, 20], n_fft=4, hop_length=1, win_length=4, window=torch.FloatTensor{[3]}, normalized=0, "
            "onesided=None, return_complex=1, align_to_window=None) : expected a 1D window tensor of size equal to "
            "win_length=4, but got window with size [3]",
        ),
        (
            lambda: torch.istft(torch.ones(5, 4, dtype=torch.complex64), 8, hop_length=9),
            "istft(CPUComplexFloatType[5, 4], n_fft=8, hop_length=9, win_length=8, window=None, center=1, normalized=0, "
            "onesided=None, length=None, return_complex=0) : expected 0 < hop_length <= win_length",
        ),
        (
            lambda: torch.istft(torch.ones(5, 4, dtype=torch.complex64), 8, window=torch.zeros(8)),
            "istft(CPUComplexFloatType[5, 4], n_fft=8, hop_length=2, win_length=8, window=torch.FloatTensor{[8]}, center=1, "
            "normalized=0, onesided=None, length=None, return_complex=0) window overlap add min: 1\n[ CPUBoolType{} ]",
        ),
    ],
)
def test_messages_show_the_call(call, message):
    with pytest.raises(RuntimeError) as caught:
        call()
    assert str(caught.value) == message
