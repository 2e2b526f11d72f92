"""Where an operator lets no gradient through: by what it has saved, as its gradient itself says."""

import pytest

import rushlight as rl
from rushlight.doctor.gates import closed_gates, is_closed
from rushlight.doctor.tape import Tape
from rushlight.nn import functional as F

FUNCTIONS = {
    "relu": rl.relu,
    "relu of a sum": lambda x: rl.relu(x + 1),
    "clamp": lambda x: x.clamp(-1, 1),
    "clamp from below": lambda x: rl.clamp_min(x, 0),
    "clamp from above": lambda x: rl.clamp_max(x, 0),
    "clamp by tensors": lambda x: x.clamp(min=rl.zeros(3)),
    "hardtanh": F.hardtanh,
    "threshold": lambda x: F.threshold(x, 0.0, 0.0),
    "sigmoid": lambda x: rl.sigmoid(1e4 * x),
    "tanh": lambda x: rl.tanh(1e4 * x),
    "where": lambda x: rl.where(x > 0, x, rl.zeros(3)),
    "where, the other way": lambda x: rl.where(x > 0, rl.zeros(3), x),
    "masked_fill": lambda x: x.masked_fill(x < 0, 0.0),
    "mul by a mask": lambda x: x * (x > 0).float(),
    "mul from the left": lambda x: (x > 0).float() * x,
    "maximum": lambda x: rl.maximum(rl.zeros(3), x),
    "minimum": lambda x: rl.minimum(x, rl.zeros(3)),
    "linear": lambda x: 2 * x,
}


@pytest.mark.parametrize("values", [(-3.0, -2.0, -1.0), (-3.0, 2.0, 1.0), (3.0, 2.0, 4.0)], ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_gate_is_closed_where_the_gradient_is_zero(name, values):
    x = rl.tensor(values, requires_grad=True)
    out = FUNCTIONS[name](x)
    tape = Tape([out._edge])
    gates = closed_gates(tape, tape.leaves[0])
    out.sum().backward()
    assert bool(gates) == (not x.grad.any())


def test_the_gate_nearest_to_the_loss_is_first_and_an_open_way_counts():
    x = rl.tensor([-1.0, -2.0], requires_grad=True)
    inner = rl.relu(x)
    out = rl.clamp_min(inner - 5, 0)
    tape = Tape([out._edge])
    assert [gate.name() for gate in closed_gates(tape, tape.leaves[0])] == ["ClampMinBackward0"]
    tape = Tape([(out + x)._edge])
    assert closed_gates(tape, tape.leaves[0]) == []


def test_what_was_freed_is_not_judged():
    x = rl.tensor([-1.0], requires_grad=True)
    out = rl.relu(x)
    node = out._edge
    assert is_closed(node, 0)
    out.sum().backward()
    assert not is_closed(node, 0)
