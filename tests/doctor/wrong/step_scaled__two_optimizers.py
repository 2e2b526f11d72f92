import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)


class ClickModel(nn.Module):
    def __init__(self, users=40, items=25, dim=8):
        super().__init__()
        self.user = nn.Embedding(users, dim)
        self.item = nn.Embedding(items, dim)
        self.mlp = nn.Sequential(nn.Linear(2 * dim, 32), nn.SiLU(), nn.Linear(32, 1))

    def forward(self, u, i):
        return self.mlp(torch.cat([self.user(u), self.item(i)], dim=1)).squeeze(1)


model = ClickModel()
tables = [*model.user.parameters(), *model.item.parameters()]
opt_tables = torch.optim.Adagrad(tables, lr=0.05)
opt_mlp = torch.optim.AdamW(model.mlp.parameters(), lr=3e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 10)
taste_u, taste_i = torch.randn(40), torch.randn(25)

for step in range(1, 41):
    u, i = torch.randint(0, 40, (64,)), torch.randint(0, 25, (64,))
    clicked = (taste_u[u] * taste_i[i] > 0).float()
    opt_tables.zero_grad()
    opt_mlp.zero_grad()
    with torch.amp.autocast("cpu", dtype=torch.bfloat16):
        score = model(u, i)
    loss = F.binary_cross_entropy_with_logits(score.float(), clicked)
    scaler.scale(loss).backward()  # or here
    scaler.step(opt_mlp)
    opt_tables.step()  # here
    scaler.update()
    if step % 10 == 0:
        print(f"step {step} loss {loss.item():.4f}")
