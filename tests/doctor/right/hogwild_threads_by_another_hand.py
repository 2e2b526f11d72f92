"""Hogwild: threads with local models push their gradients to one shared model without locks."""
import copy
import threading
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(2)
torch.set_num_threads(1)
X = torch.randn(240, 8)
Y = (X @ torch.randn(8, 3)).argmax(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(8, 24), nn.Linear(24, 3)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class Worker(threading.Thread):
    def __init__(self, rank, shared, epochs=3, lr=0.05):
        super().__init__(name=f"worker-{rank}")
        self.rank, self.shared, self.epochs, self.lr = rank, shared, epochs, lr
        self.local = copy.deepcopy(shared)
        self.gen = torch.Generator().manual_seed(100 + rank)
        self.losses = []

    def run(self):
        for _ in range(self.epochs):
            for idx in torch.randperm(240, generator=self.gen).split(24):
                with torch.no_grad():
                    for lp, sp in zip(self.local.parameters(), self.shared.parameters()):
                        lp.copy_(sp)
                self.local.zero_grad()
                loss = F.cross_entropy(self.local(X[idx]), Y[idx])
                loss.backward()
                with torch.no_grad():
                    for lp, sp in zip(self.local.parameters(), self.shared.parameters()):
                        sp.sub_(lp.grad, alpha=self.lr)
                self.losses.append(loss.item())


def main():
    shared = Net()
    workers = [Worker(rank, shared) for rank in range(3)]
    for w in workers:
        w.start()
    for w in workers:
        w.join()
    shared.eval()
    with torch.no_grad():
        acc = (shared(X).argmax(1) == Y).float().mean().item()
    for w in workers:
        print(w.name, f"first {w.losses[0]:.3f} last {w.losses[-1]:.3f}")
    print(f"shared accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
