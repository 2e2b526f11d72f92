"""Fine-tuning: body frozen with requires_grad_(False), its batch norm in eval during training, hooks clip and log gradients."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(118)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.low = nn.Sequential(nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU())
        self.high = nn.Sequential(nn.Linear(32, 32), nn.BatchNorm1d(32), nn.ReLU())

    def forward(self, x):
        return self.high(self.low(x))


def pretrain(net, X, Y):
    head = nn.Linear(32, 4)
    opt = torch.optim.Adam([*net.parameters(), *head.parameters()], lr=5e-3)
    for idx in torch.randperm(len(X)).split(20):
        opt.zero_grad()
        F.cross_entropy(head(net(X[idx])), Y[idx]).backward()
        opt.step()
    return net.state_dict()


class FineTuned(nn.Module):
    def __init__(self, state):
        super().__init__()
        self.backbone = Backbone()
        self.backbone.load_state_dict(state)
        self.backbone.low.requires_grad_(False)
        self.head = nn.Linear(32, 2)

    def train(self, mode=True):
        super().train(mode)
        for m in self.backbone.modules():
            if isinstance(m, nn.BatchNorm1d):
                m.eval()          # keep the pretrained statistics
        return self

    def forward(self, x):
        return self.head(F.dropout(self.backbone(x), 0.2, self.training))


X = torch.randn(300, 12)
model = FineTuned(pretrain(Backbone(), X, X[:, :4].argmax(1)))
grad_log = {}
for name, p in model.named_parameters():
    if p.requires_grad:
        p.register_hook(lambda g: g.clamp(-0.5, 0.5))
        p.register_hook(lambda g, name=name: grad_log.__setitem__(name, g.norm().item()))
optimizer = torch.optim.SGD(
    filter(lambda p: p.requires_grad, model.parameters()), lr=0.05, momentum=0.9, weight_decay=1e-4
)
Y = (X[:, 0] > X[:, 1]).long()
loader = DataLoader(TensorDataset(X[:240], Y[:240]), batch_size=24, shuffle=True)
for epoch in range(4):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(X[240:]).argmax(1) == Y[240:]).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f} largest grad {max(grad_log.values()):.4f}")
