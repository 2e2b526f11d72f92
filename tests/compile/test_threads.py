"""A compiled function that several threads call: they share its memory, so they take turns."""

from concurrent.futures import ThreadPoolExecutor

import rushlight as torch


def test_threads_share_a_compiled_function():
    def function(x):
        return torch.cumsum(x, 0) * 2 + (x @ x).tanh()  # cumsum runs in Python between native stretches

    compiled = torch.compile(function)
    for _ in range(4):
        compiled(torch.ones(64, 64))

    def apart(seed):
        generator = torch.Generator().manual_seed(seed)
        inputs = [torch.randn(64, 64, generator=generator) for _ in range(200)]
        return max((compiled(x) - function(x)).abs().max().item() for x in inputs)

    with ThreadPoolExecutor(4) as pool:
        assert max(pool.map(apart, range(4))) < 1e-4


def test_options_of_torchs_compiler_are_named_in_a_warning(recwarn):
    torch.compile(lambda x: x, options={"triton.cudagraphs": True})
    assert "triton.cudagraphs" in str(recwarn.pop(UserWarning).message)
