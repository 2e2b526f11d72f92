"""Short-time Fourier transforms: of overlapping pieces of a signal, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.device.backend import on_device_of
from ...core.dispatch.op import OPS, composite
from ...core.dispatch.scalars import check_flag
from ...core.dispatch.torch_function import told_by_keyword
from ...core.tensor.node import shown_as
from ...core.tensor.tensor import Tensor, type_word, wrap
from ...core.warn import warn
from .fft import _c2c, _c2r, _complex, _r2c


@told_by_keyword
@composite(method=True, function=False)
def stft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, pad_mode: str = "reflect", normalized: bool = False, onesided: bool | None = None,
    return_complex: bool | None = None, align_to_window: bool | None = None,
) -> Any:  # fmt: skip
    """The Fourier transforms of the windowed pieces of a signal, at a hop of `hop_length`.

    X[k, m] = sum_j window[j] x[m hop_length + j] exp(-2 pi i j k / n_fft)

    Shape: input (L) or (N, L) -> (N, n_fft // 2 + 1 or n_fft, frames), complex; with return_complex=False real and
    (..., 2). center: the signal is padded by n_fft // 2 on both sides. normalized: divided by sqrt(n_fft).
    align_to_window: without `center`, the first piece's window, not its n_fft points, begins where the signal does.
    """
    if center and align_to_window is not None:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    check_flag("stft", "normalized", normalized)
    hop, size = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    is_complex = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not is_complex:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that "
                "return_complex=True in a future PyTorch release."
            )
        return_complex = True
    check_flag("stft", "return_complex", return_complex)
    x = _centered(input, n_fft, pad_mode) if center else input
    call = _Called(
        "stft", "torch.{}Tensor", x, n_fft, hop, size, window, normalized=normalized, onesided=onesided,
        return_complex=return_complex, align_to_window=align_to_window,
    )  # fmt: skip
    _check_signal(x, n_fft, hop, size, window, call)
    if window is None:
        _warn_no_window("stft")
    one_sided = not is_complex if onesided is None else onesided
    if one_sided and is_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    signals = x if x._array.ndim == 2 else x.unsqueeze(0)
    frames = _windowed(signals, n_fft, hop, size) if align_to_window else signals.unfold(-1, n_fft, hop)
    w = _padded_window(input, window, size, n_fft)
    frames = frames if w is None else frames * w
    scale = 1 if normalized else 0
    result = _r2c(frames, (2,), scale, one_sided) if not is_complex else _c2c(_complex(frames), (2,), scale, True)
    result = result.transpose(1, 2)
    result = shown_as(result.squeeze(0), "SqueezeBackward4") if x._array.ndim == 1 else result
    return result if return_complex else OPS["view_as_real"](result)


def _centered(x: Any, n_fft: int, pad_mode: str) -> Any:
    lead = (1,) * (3 - x._array.ndim)
    pad = n_fft // 2
    padded = OPS["pad"](x.reshape(*lead, *x._array.shape), (pad, pad), pad_mode)
    return padded.reshape(padded._array.shape[-x._array.ndim :])


def _windowed(x: Any, n_fft: int, hop: int, size: int) -> Any:
    """The pieces whose windows of `size` points fit into the signal. Raises RuntimeError where their n_fft points do not, as torch."""
    pieces = 1 + (x._array.shape[1] - size) // hop
    padded = OPS["pad"](x, ((n_fft - size) // 2,) * 2, "constant")
    rows, step = padded.stride()
    return OPS["as_strided"](padded, (len(x._array), pieces, n_fft), (rows, hop * step, step))


class _Called:
    """The call as torch's messages show it: made into text where there is one to show."""

    def __init__(self, name: str, kind: str, x: Any, n_fft: int, hop: int, size: int, window: Any, **options: Any):
        self.of, self.options = (name, kind, x, n_fft, hop, size, window), options

    def __str__(self) -> str:
        name, kind, x, n_fft, hop, size, window = self.of
        shown = "None" if window is None else f"torch.{type_word(window.dtype)}Tensor{{{list(window.shape)}}}"
        flags = ", ".join(f"{n}={int(v) if isinstance(v, bool) else v}" for n, v in self.options.items())
        shown_x = kind.format(type_word(x.dtype)) + str(list(x.shape))
        return f"{name}({shown_x}, n_fft={n_fft}, hop_length={hop}, win_length={size}, window={shown}, {flags}) "


def _check_signal(x: Any, n_fft: int, hop: int, size: int, window: Any, call: _Called) -> None:
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(f"{call}: expected a tensor of floating point or complex values")
    if x._array.ndim not in (1, 2):
        raise RuntimeError(f"{call}: expected a 1D or 2D tensor")
    if x.dtype.itemsize == 2:
        raise RuntimeError(f"MKL FFT doesn't support tensors of type: {type_word(x.dtype)}")
    length = x._array.shape[-1]
    if not 0 < n_fft <= length:
        raise RuntimeError(f"{call}: expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{call}: expected hop_length > 0, but got hop_length={hop}")
    if not 0 < size <= n_fft:
        raise RuntimeError(f"{call}: expected 0 < win_length <= n_fft, but got win_length={size}")
    if window is not None and window._array.shape != (size,):
        raise RuntimeError(
            f"{call}: expected a 1D window tensor of size equal to win_length={size}, but got window with size "
            f"{list(window.shape)}"
        )


def _warn_no_window(name: str) -> None:
    warn(
        f"A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. Other "
        f"windows such as torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage in {name}.",
    )


def _padded_window(input: Any, window: Any, size: int, n_fft: int) -> Any:
    """The window in the middle of n_fft points; None where it is all ones."""
    if window is None:
        if size == n_fft:
            return None
        window = wrap(on_device_of(input._array, np.ones, size, np.float32))
    left = (n_fft - size) // 2
    if size < n_fft:
        parts = [window.new_zeros(left), window, window.new_zeros(n_fft - size - left)]
        window = OPS["cat"](parts)
    return window


@told_by_keyword
@composite(method=True, function=False)
def istft(
    input: Any, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Any = None,
    center: bool = True, normalized: bool = False, onesided: bool | None = None, length: int | None = None,
    return_complex: bool = False,
) -> Any:  # fmt: skip
    """The signal whose `stft` is nearest to the input: the pieces added up, divided by the sum of the squared windows.

    Shape: complex (n_fft // 2 + 1 or n_fft, frames) or (N, ...) -> (length) or (N, length).
    Raises RuntimeError where the windows leave a gap.
    """
    hop, size = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    one_sided = input._array.shape[-2] != n_fft if onesided is None else onesided
    call = _Called(
        "istft", "CPU{}Type", input, n_fft, hop, size, window, center=center, normalized=normalized,
        onesided=onesided, length=length, return_complex=return_complex,
    )  # fmt: skip
    _check_spectrum(input, n_fft, hop, size, window, one_sided, return_complex, call)
    if window is None:
        _warn_no_window("istft")
    x = (input if input._array.ndim == 3 else input.unsqueeze(0)).transpose(1, 2)
    frames = x._array.shape[1]
    scale = 1 if normalized else 2
    if return_complex:
        pieces = _c2c(x, (2,), scale, False)
    else:
        half = x if one_sided else x.narrow(2, 0, n_fft // 2 + 1)
        pieces = _c2r(half, (2,), scale, n_fft)
    w = _padded_window(input, window, size, n_fft)
    w = pieces.new_ones(n_fft) if w is None else w
    total = n_fft + hop * (frames - 1)
    signal = _overlapped(pieces * w, hop, total)
    envelope = _overlapped((w * w).expand(1, frames, n_fft), hop, total)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else total - n_fft // 2 if center else total
    stop = min(end, total)
    signal, envelope = signal[:, start:stop], envelope[:, start:stop]
    if envelope._array.size and np.abs(envelope._array).min() <= 1e-11:
        raise RuntimeError(f"{call}window overlap add min: 1\n[ CPUBoolType{{}} ]")
    result = signal / envelope
    if end > total:
        warn("The length of signal is shorter than the length parameter. Result is being padded with zeros in the "
                      "tail. Please check your center and hop_length settings",
        )  # fmt: skip
        result = OPS["cat"]([result, result.new_zeros(result._array.shape[0], end - total)], 1)
    return result.squeeze(0) if input._array.ndim == 2 else result


def _check_spectrum(
    x: Any, n_fft: int, hop: int, size: int, window: Any, one_sided: bool, as_complex: bool, call: _Called
) -> None:
    if x._array.ndim not in (2, 3):
        raise RuntimeError(f"{call}: expected a tensor with 2 or 3 dimensions, but got {x._array.ndim}")
    if not x._array.size:
        raise RuntimeError(f"{call}: input tensor cannot be empty.")
    expected = n_fft // 2 + 1 if one_sided else n_fft
    if x._array.shape[-2] != expected:
        words = "n_fft / 2 + 1 when onesided=True" if one_sided else "n_fft when onesided=False"
        raise RuntimeError(
            f"{call}: expected the frequency dimension (3rd to the last) of the input tensor to match {words}, but got "
            f"{x._array.shape[-2]}"
        )
    if not 0 < hop <= size:
        raise RuntimeError(f"{call}: expected 0 < hop_length <= win_length")
    if not 0 < size <= n_fft:
        raise RuntimeError(f"{call}: expected 0 < win_length <= n_fft")
    if window is not None and window._array.shape != (size,):
        raise RuntimeError(f"{call}: Invalid window shape. window has to be 1D and length of `win_length`")
    if as_complex and one_sided:
        raise RuntimeError("cannot have onesided output if window or input is complex")
    if not as_complex and isinstance(window, Tensor) and window.is_complex():
        raise RuntimeError("Complex windows are incompatible with return_complex=False")


def _overlapped(pieces: Any, hop: int, total: int) -> Any:
    """Pieces (N, frames, n) added up at a hop of `hop` in `total` points. Shape: -> (N, total)"""
    batch, frames, n = pieces._array.shape
    places = (np.arange(frames)[:, None] * hop + np.arange(n)).reshape(-1)
    out = pieces.new_zeros(batch, total)
    return out.index_add(1, wrap(places), pieces.reshape(batch, frames * n))
