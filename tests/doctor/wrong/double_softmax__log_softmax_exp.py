import torch
from torch import nn
torch.manual_seed(0)
class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.r, self.f = nn.Embedding(9, 6), nn.GRU(6, 6, batch_first=True), nn.Linear(6, 3)
    def forward(self, x):
        h, _ = self.r(self.e(x))
        return nn.functional.log_softmax(self.f(h), -1).exp()  # here
t = Tagger()
opt = torch.optim.Adam(t.parameters())
for _ in range(4):
    x, y = torch.randint(0, 9, (4, 7)), torch.randint(0, 3, (4, 7))
    loss = nn.functional.cross_entropy(t(x).permute(0, 2, 1), y)  # or here
    opt.zero_grad(); loss.backward(); opt.step()
print("x")
