"""Arguments by position mean what they mean to torch: parameters are in the order of torch's overloads."""

import inspect

import pytest

import rushlight as torch
from rushlight.core.dispatch.python_signatures import known_names, overloads_of

OWNERS = {
    "torch": torch, "linalg": torch.linalg, "fft": torch.fft, "special": torch.special, "nn": torch.nn.functional,
    "Tensor": torch.Tensor,
}  # fmt: skip


def signatures():
    """(kind, name, positional parameters) of the functions that torch has too, without those that take any number."""
    for kind, full in known_names():
        name = full.removeprefix(f"{kind}_")
        f = getattr(OWNERS.get(kind), name, None)
        if f is None:
            continue
        try:
            parameters = inspect.signature(f).parameters.values()
        except ValueError:
            continue
        if not any(p.kind is p.VAR_POSITIONAL for p in parameters):
            own = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
            yield kind, name, own[1:] if kind == "Tensor" else own


@pytest.mark.parametrize("kind", OWNERS)
def test_parameters_are_in_torchs_order(kind):
    found = [(name, own) for of, name, own in signatures() if of == kind]
    assert len(found) > 5
    wrong = []
    for name, own in found:
        lists = [[p.name for p in o.parameters if not p.keyword] for o in overloads_of(kind, name)]
        if lists and not any(all(own.index(n) == names.index(n) for n in names if n in own) for names in lists):
            wrong.append((name, own, lists))
    assert not wrong


def test_core_norms_take_torchs_arguments():
    x, weight, bias = torch.arange(12.0).view(4, 3), torch.tensor([1.0, 2, 3]), torch.tensor([4.0, 5, 6])
    mean, var = torch.tensor([7.0, 8, 9]), torch.tensor([1.0, 4, 9])
    expected = (x - mean) / (var + 1e-5).sqrt() * weight + bias
    torch.testing.assert_close(torch.batch_norm(x, weight, bias, mean, var, False, 0.1, 1e-5, False), expected)
    y = torch.instance_norm(x.view(2, 3, 2), weight, bias, mean, var, False, 0.1, 1e-5, False)
    column = [p.view(1, 3, 1) for p in (mean, var, weight, bias)]
    torch.testing.assert_close(y, (x.view(2, 3, 2) - column[0]) / (column[1] + 1e-5).sqrt() * column[2] + column[3])
    with pytest.raises(TypeError):
        torch.batch_norm(x, weight, bias)
