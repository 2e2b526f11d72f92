"""The result of two operands has the memory order of the first one, as in torch, from three dimensions on."""

import pytest

import rushlight as torch


@pytest.mark.parametrize("operate", [torch.add, torch.mul, torch.sub, torch.maximum, lambda x, y: x / y])
def test_the_first_operand_decides(operate):
    x, y = torch.randn(2, 6, 5).transpose(1, 2), torch.randn(1, 5, 6)
    for recorded in (False, True):
        out = operate(x.requires_grad_(recorded) if recorded else x, y)
        assert out.stride() == (30, 1, 5)
        assert torch.equal(out.contiguous(), operate(x.contiguous(), y))
    assert operate(y.expand(2, 5, 6).contiguous(), x).stride() == (30, 6, 1)


def test_dropout_behind_it_draws_in_that_order():
    x, p = torch.ones(2, 6, 5).transpose(1, 2), torch.zeros(1, 5, 6)
    torch.manual_seed(0)
    first = torch.nn.functional.dropout(x + p, 0.5)
    torch.manual_seed(0)
    assert torch.equal(first, torch.nn.functional.dropout(x, 0.5))
