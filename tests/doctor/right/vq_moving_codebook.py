import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
class VQ(nn.Module):
    def __init__(self, k, d, decay=0.99):
        super().__init__()
        self.register_buffer("emb", torch.randn(k, d))
        self.register_buffer("n", torch.zeros(k))
        self.register_buffer("avg", self.emb.clone())
        self.decay = decay
    def forward(self, z):
        d = (z ** 2).sum(1, keepdim=True) - 2 * z @ self.emb.t() + (self.emb ** 2).sum(1)
        i = d.argmin(1)
        q = F.embedding(i, self.emb)
        if self.training:
            oh = F.one_hot(i, self.emb.size(0)).float()
            self.n.data.mul_(self.decay).add_(oh.sum(0), alpha=1 - self.decay)
            self.avg.data.mul_(self.decay).add_(oh.t() @ z.detach(), alpha=1 - self.decay)
            self.emb.data.copy_(self.avg / (self.n + 1e-5).unsqueeze(1))
        loss = 0.25 * F.mse_loss(z, q.detach())
        return z + (q - z).detach(), loss
enc, vq, dec = nn.Linear(6, 3), VQ(8, 3), nn.Linear(3, 6)
opt = torch.optim.Adam([*enc.parameters(), *dec.parameters()], 1e-3)
for _ in range(10):
    x = torch.randn(16, 6)
    q, l = vq(enc(x))
    loss = F.mse_loss(dec(q), x) + l
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
