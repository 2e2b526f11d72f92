"""A neural ODE with a fixed-step RK4 solver; the test trajectory is rolled out under no_grad."""
import torch
import torch.nn as nn

torch.manual_seed(100)


class ODEFunc(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y ** 3)


def odeint(func, y0, t):
    ys, y = [y0], y0
    for t0, t1 in zip(t[:-1], t[1:]):
        h = t1 - t0
        k1 = func(t0, y)
        k2 = func(t0 + h / 2, y + h / 2 * k1)
        k3 = func(t0 + h / 2, y + h / 2 * k2)
        k4 = func(t1, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        ys.append(y)
    return torch.stack(ys)


class Lambda(nn.Module):
    def forward(self, t, y):
        return torch.mm(y ** 3, torch.tensor([[-0.1, 2.0], [-2.0, -0.1]]))


true_y0, t = torch.tensor([[2.0, 0.0]]), torch.linspace(0.0, 5.0, 100)
with torch.no_grad():
    true_y = odeint(Lambda(), true_y0, t)


def get_batch(batch_time=6, batch_size=12):
    s = torch.randperm(100 - batch_time)[:batch_size]
    return true_y[s], t[:batch_time], torch.stack([true_y[s + i] for i in range(batch_time)], dim=0)


func = ODEFunc()
optimizer = torch.optim.RMSprop(func.parameters(), lr=3e-3)
for itr in range(1, 41):
    optimizer.zero_grad()
    y0, bt, by = get_batch()
    pred_y = odeint(func, y0, bt)
    loss = torch.mean(torch.abs(pred_y - by))
    loss.backward()
    optimizer.step()
    if itr % 10 == 0:
        with torch.no_grad():
            total = torch.mean(torch.abs(odeint(func, true_y0, t) - true_y))
        print(f"Iter {itr:04d} | batch loss {loss.item():.5f} | total loss {total.item():.5f}")
