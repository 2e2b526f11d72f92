"""`set_float32_matmul_precision` in compiled functions and in backwards that repeat themselves: as in eager calls."""

import pytest

import rushlight as torch
from rushlight.compile.jit.backward import forget


@pytest.fixture(autouse=True)
def fresh():
    forget()
    yield
    forget()
    torch.set_float32_matmul_precision("highest")


def error(found, x, y):
    """How far a product is from the exact one."""
    return (found.double() - x.double() @ y.double()).abs().max().item()


def operands():
    torch.manual_seed(0)
    return torch.randn(192, 256), torch.randn(256, 320)


def test_a_compiled_product_follows_the_precision_of_its_call():
    x, y = operands()
    compiled = torch.compile(lambda a, b: a @ b)
    eager = {}
    for word in ("highest", "medium", "highest", "medium"):
        torch.set_float32_matmul_precision(word)
        eager[word] = error(x @ y, x, y)
        for _ in range(6):
            assert error(compiled(x, y), x, y) == pytest.approx(eager[word], rel=0.5)
    assert eager["highest"] < 1e-4


def test_small_products_are_never_rounded():
    torch.set_float32_matmul_precision("medium")
    x, y = torch.randn(8, 16), torch.randn(16, 8)
    compiled = torch.compile(lambda a, b: a @ b)
    for _ in range(6):
        assert error(compiled(x, y), x, y) < 1e-5


def test_a_backward_that_repeats_itself_follows_the_precision():
    x, y = operands()
    y.requires_grad_()
    for word in ("highest", "medium", "highest"):
        torch.set_float32_matmul_precision(word)
        g = torch.randn(192, 320, generator=torch.Generator().manual_seed(1))
        expected = (x.double().T @ g.double()).float()
        rounding = (x.T @ g - expected).abs().max().item()
        for _ in range(8):
            y.grad = None
            (x @ y).backward(g)
            assert (y.grad - expected).abs().max().item() == pytest.approx(rounding, rel=0.5)
