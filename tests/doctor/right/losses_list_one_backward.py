"""An epoch's losses are kept in a list with their graphs, summed and backwarded once (full-batch descent by chunks)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(120)


class Matcher(nn.Module):
    """A recurrent scorer over sequences of unequal length."""
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(3, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, seq):
        h = torch.zeros(1, 16)
        for x in seq:
            h = self.cell(x.unsqueeze(0), h)
        return self.out(h).squeeze()


sequences, targets = [], []
for _ in range(24):
    seq = torch.randn(int(torch.randint(3, 9, ())), 3)
    sequences.append(seq)
    targets.append(torch.tanh(seq[:, 0].sum()))
model = Matcher()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
history, outputs = [], []
for epoch in range(15):
    losses, outputs = [], []
    for seq, target in zip(sequences[:20], targets[:20]):
        pred = model(seq)
        losses.append(F.mse_loss(pred, target))
        outputs.append(pred.detach())
    loss = torch.stack(losses).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss.detach())
    if epoch % 5 == 4:
        with torch.no_grad():
            val = sum(F.mse_loss(model(s), t).item() for s, t in zip(sequences[20:], targets[20:])) / 4
        print(f"epoch {epoch} loss {loss.item():.4f} val {val:.4f} spread {torch.stack(outputs).std():.3f}")
print("mean of history", torch.stack(history).mean().item())
