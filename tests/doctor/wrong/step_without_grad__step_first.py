import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 20)
        self.fc2 = nn.Linear(20, 3)

    def forward(self, x):
        return F.log_softmax(self.fc2(torch.tanh(self.fc1(x))), dim=1)


def train(args, model, batches, optimizer, epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(batches):
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        optimizer.step()  # here
        loss.backward()  # or here
        if batch_idx % args["log_interval"] == 0:
            print(f"Train Epoch: {epoch} [{batch_idx}/{len(batches)}]\tLoss: {loss.item():.6f}")


def main():
    args = {"epochs": 2, "lr": 0.5, "log_interval": 5}
    batches = []
    for _ in range(10):
        x = torch.randn(32, 6)
        batches.append((x, x[:, :3].argmax(1)))
    model = Net()
    optimizer = torch.optim.Adadelta(model.parameters(), lr=args["lr"])
    for epoch in range(1, args["epochs"] + 1):
        train(args, model, batches, optimizer, epoch)


if __name__ == "__main__":
    main()
