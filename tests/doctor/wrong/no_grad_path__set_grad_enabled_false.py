import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for phase in ["val", "train"]:
    x, y = torch.randn(6, 3), torch.randint(0, 2, (6,))
    with torch.set_grad_enabled(phase == "val"):  # here
        loss = nn.functional.cross_entropy(model(x), y)  # or here
    if phase == "train":
        opt.zero_grad()
        loss.backward()  # or here
        opt.step()
