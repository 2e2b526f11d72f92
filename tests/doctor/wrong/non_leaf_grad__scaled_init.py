import torch

torch.manual_seed(0)


def make_data(n):
    x = torch.linspace(-2, 2, n).unsqueeze(1)
    return x, torch.sin(1.5 * x)


class TwoLayer:
    """A two-layer network without nn.Module."""

    def __init__(self, hidden):
        self.w1 = torch.randn(1, hidden, requires_grad=True)
        self.b1 = torch.zeros(hidden, requires_grad=True)
        self.w2 = torch.randn(hidden, 1, requires_grad=True) * hidden ** -0.5  # here
        self.b2 = torch.zeros(1, requires_grad=True)

    def parameters(self):
        return [self.w1, self.b1, self.w2, self.b2]

    def __call__(self, x):
        return torch.tanh(x @ self.w1 + self.b1) @ self.w2 + self.b2


def descend(net, lr):
    with torch.no_grad():
        for p in net.parameters():
            p -= lr * p.grad  # or here
            p.grad = None


net = TwoLayer(16)
x, y = make_data(64)
for step in range(50):
    loss = ((net(x) - y) ** 2).mean()
    loss.backward()
    descend(net, lr=0.05)
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.4f}")
