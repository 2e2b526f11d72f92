import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class MultiLabelNet(nn.Module):
    def __init__(self, n_in, n_hidden, n_labels):
        super().__init__()
        self.hidden = nn.Linear(n_in, n_hidden)
        self.act = nn.Tanh()
        self.out = nn.Linear(n_hidden, n_labels)

    def forward(self, x):
        x = self.act(self.hidden(x))
        return torch.sigmoid(self.out(x))  # here


def fit(model, train_dl, valid_dl, epochs):
    criterion = nn.BCEWithLogitsLoss()  # or here
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(epochs):
        model.train()
        for x, y in train_dl:
            optimizer.zero_grad()
            prob = model(x)  # or here
            loss = criterion(prob, y)  # or here
            loss.backward()
            optimizer.step()
        model.eval()
        right, count = 0, 0
        with torch.no_grad():
            for x, y in valid_dl:
                right += ((model(x) > 0.5).float() == y).sum().item()
                count += y.numel()
        print(f"epoch {epoch} loss {loss.item():.4f} label accuracy {right / count:.3f}")


torch.manual_seed(0)
x = torch.randn(360, 10)
y = (x @ torch.randn(10, 5) > 0).float()
train_dl = DataLoader(TensorDataset(x[:280], y[:280]), batch_size=28, shuffle=True)
valid_dl = DataLoader(TensorDataset(x[280:], y[280:]), batch_size=40)
fit(MultiLabelNet(10, 32, 5), train_dl, valid_dl, epochs=4)
