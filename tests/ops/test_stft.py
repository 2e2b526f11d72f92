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
