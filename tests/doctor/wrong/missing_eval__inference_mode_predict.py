import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, 20), nn.ReLU(), nn.Dropout(0.4), nn.Linear(20, 3))

    def forward(self, x):
        return self.net(x)

    @torch.inference_mode()
    def predict(self, x):
        return self(x).argmax(1)  # here


torch.manual_seed(0)
model = Classifier()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.randn(90, 6), torch.randint(0, 3, (90,))
xv, yv = torch.randn(30, 6), torch.randint(0, 3, (30,))
for epoch in range(4):
    for i in range(0, 90, 15):
        opt.zero_grad()
        nn.functional.cross_entropy(model(x[i : i + 15]), y[i : i + 15]).backward()
        opt.step()
    accuracy = (model.predict(xv) == yv).float().mean()  # or here
