import torch
from torch import nn
from torch.optim.lr_scheduler import MultiStepLR
from torch.utils.data import DataLoader, TensorDataset


class Engine:
    def __init__(self, model, max_epochs=8):
        self.model = model
        self.max_epochs = max_epochs
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
        self.scheduler = MultiStepLR(  # or here
            self.optimizer,
            milestones=[max_epochs // 2, 3 * max_epochs // 4],
            gamma=0.1,
        )

    def training_step(self, batch):
        x, y = batch
        loss = nn.functional.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()  # here
        return loss.item()

    def fit(self, loader):
        for epoch in range(self.max_epochs):
            losses = [self.training_step(batch) for batch in loader]
            lr = self.scheduler.get_last_lr()[0]
            print(f"epoch {epoch} lr {lr:.4f} loss {sum(losses) / len(losses):.4f}")


def main():
    torch.manual_seed(0)
    x = torch.randn(250, 2) * 2
    y = (x.norm(dim=1) > 2.2).long()
    loader = DataLoader(TensorDataset(x, y), batch_size=25, shuffle=True)
    Engine(nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))).fit(loader)


main()
