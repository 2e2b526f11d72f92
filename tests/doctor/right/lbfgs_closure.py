"""pytorch/examples time_sequence_prediction: LSTM cells trained by LBFGS with a closure."""
import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim

np.random.seed(0)
torch.manual_seed(0)


class Sequence(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm1 = nn.LSTMCell(1, 10)
        self.lstm2 = nn.LSTMCell(10, 10)
        self.linear = nn.Linear(10, 1)

    def forward(self, x, future=0):
        outputs = []
        h1, c1, h2, c2 = (torch.zeros(x.size(0), 10) for _ in range(4))
        for step in x.split(1, dim=1):
            h1, c1 = self.lstm1(step, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            output = self.linear(h2)
            outputs.append(output)
        for _ in range(future):
            h1, c1 = self.lstm1(output, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            output = self.linear(h2)
            outputs.append(output)
        return torch.cat(outputs, dim=1)


t = np.arange(24)[None] + np.random.randint(-8, 8, (12, 1))
data = torch.from_numpy(np.sin(t / 4.0).astype("float32"))
source, target = data[3:, :-1], data[3:, 1:]
test_source, test_target = data[:3, :-1], data[:3, 1:]
seq = Sequence()
criterion = nn.MSELoss()
optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=6)
for i in range(6):
    def closure():
        optimizer.zero_grad()
        loss = criterion(seq(source), target)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    with torch.no_grad():
        pred = seq(test_source, future=5)
        test = criterion(pred[:, :-5], test_target)
    print(f"STEP {i} loss {loss.item():.5f} test {test.item():.5f}")
