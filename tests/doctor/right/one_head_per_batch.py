"""Multi-task trunk; each batch belongs to one task, so the other heads are not touched."""
import random
import torch
import torch.nn as nn

torch.manual_seed(1)
random.seed(1)
TASKS = {"digits": 10, "parity": 2, "size": 3, "colour": 5, "rare": 4}


class MultiHead(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.heads = nn.ModuleDict({name: nn.Linear(32, n) for name, n in TASKS.items()})

    def forward(self, x, task):
        return self.heads[task](self.trunk(x))


def batches(n_per_epoch):
    schedule = ["digits"] * 8 + ["parity"] * 6 + ["size"] * 5 + ["colour"] * 4 + ["rare"]
    random.shuffle(schedule)
    for task in schedule[:n_per_epoch]:
        x = torch.randn(16, 20)
        y = x[:, :TASKS[task]].argmax(dim=1)
        yield task, x, y


def main():
    model = MultiHead()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(3):
        history = {name: [] for name in TASKS}
        for task, x, y in batches(24):
            optimizer.zero_grad()
            loss = loss_fn(model(x, task), y)
            loss.backward()
            optimizer.step()
            history[task].append(loss.item())
        print(epoch, {k: round(sum(v) / len(v), 3) for k, v in history.items() if v})


if __name__ == "__main__":
    main()
