"""Limits: which types they take."""

import pytest

import rushlight as torch


def test_bools_are_refused():
    b = torch.zeros(3, dtype=torch.bool)
    for call, word in (
        (lambda: torch.clamp(b, True), "clamp_min_scalar_cpu"),
        (lambda: torch.clamp(b, max=True), "clamp_max_scalar_cpu"),
        (lambda: torch.clamp(b, False, True), "clamp_scalar_cpu"),
        (lambda: torch.clamp_max(b, True, out=b), "clamp_max_scalar_cpu"),
        (lambda: b.clone().cumsum_(0), "cumsum_out_cpu"),
        (lambda: b.clone().cumprod_(0), "cumprod_out_cpu"),
    ):
        with pytest.raises(NotImplementedError, match=f"\"{word}\" not implemented for 'Bool'"):
            call()
    assert torch.clamp(b, 0).dtype is torch.int64
    assert torch.tensor(True).cumsum_(-1).item() is True
