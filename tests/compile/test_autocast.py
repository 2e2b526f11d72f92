"""Steps under autocast: bfloat16 goes through the compiler, and follows the eager step as far as its 8 bits reach."""

import pytest

import rushlight as torch
from rushlight import nn, optim
from rushlight.compile.lower.llvm.engine import available
from rushlight.nn import functional as F


class Mixed(nn.Module):
    """Everything that runs in the type of its input, between products in bfloat16."""

    def __init__(self):
        super().__init__()
        self.embed, self.norm, self.attend = nn.Linear(16, 32), nn.LayerNorm(32), nn.Linear(32, 96)
        self.widen, self.narrow = nn.Linear(32, 64), nn.Linear(64, 32)
        self.conv, self.batch, self.group = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.GroupNorm(4, 8)

    def forward(self, x):
        h = self.embed(x)
        q, k, v = self.attend(self.norm(h)).chunk(3, -1)
        h = h + torch.softmax(q @ k.transpose(-1, -2) / 5, -1) @ v
        h = h + self.narrow(F.gelu(self.widen(h)))
        h = torch.sigmoid(h) * F.silu(h) + F.leaky_relu(h) + F.gelu(h, approximate="tanh")
        image = F.relu(self.batch(self.conv(h.reshape(4, 8, 2, -1))))
        return F.log_softmax(self.group(image).mean((2, 3)), -1)


def losses(compiled, low):
    torch.manual_seed(1)
    model = Mixed()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
    x, labels = torch.randn(4, 16, 16), torch.randint(0, 8, (4,))

    def step():
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=low):
            loss = F.nll_loss(model(x).float(), labels)
        loss.backward()
        optimizer.step()
        return loss

    run = torch.compile(step) if compiled else step
    return run, [run().item() for _ in range(12)]


def test_a_step_in_bfloat16_follows_the_eager_one():
    exact = losses(False, low=False)[1]
    eager, compiled = losses(False, low=True)[1], losses(True, low=True)[1]
    error = max(abs(a - b) for a, b in zip(eager, exact, strict=True))
    assert 0 < error < 0.05
    assert max(abs(a - b) for a, b in zip(compiled, exact, strict=True)) < 4 * error


@pytest.mark.skipif(not available(), reason="programs are interpreted without llvmlite")
def test_no_operator_of_it_is_left_to_python():
    run, _ = losses(True, low=True)
    assert "in Python" not in str(torch.compile.explain(run)())
