"""Domain adaptation: features are trained to confuse a domain classifier."""
import torch
from torch import nn
from torch.nn import functional as F


class Adapter:
    def __init__(self):
        self.features = nn.Sequential(nn.Linear(6, 24), nn.ELU())
        self.label_clf = nn.Linear(24, 3)
        self.domain_clf = nn.Sequential(nn.Linear(24, 16), nn.ELU(), nn.Linear(16, 1))
        task = [*self.features.parameters(), *self.label_clf.parameters()]
        self.opt_task = torch.optim.Adam(task, lr=2e-3)
        self.opt_domain = torch.optim.Adam(self.domain_clf.parameters(), lr=2e-3)

    def domain_loss(self, feats, is_target):
        labels = torch.full((len(feats), 1), float(is_target))
        return F.binary_cross_entropy_with_logits(self.domain_clf(feats), labels)

    def update_task(self, xs, ys, xt):
        loss = F.cross_entropy(self.label_clf(self.features(xs)), ys)
        confusion = self.domain_loss(self.features(xt), 0)
        self.opt_task.zero_grad()
        (loss + 0.1 * confusion).backward()  # or here
        self.opt_task.step()
        return loss.item()

    def update_domain(self, xs, xt):
        with torch.no_grad():
            fs, ft = self.features(xs), self.features(xt)
        loss = self.domain_loss(fs, 0) + self.domain_loss(ft, 1)
        self.opt_task.zero_grad()  # or here
        loss.backward()  # here
        self.opt_domain.step()  # or here
        self.domain_clf.zero_grad()  # or here
        return loss.item()


torch.manual_seed(0)
adapter = Adapter()
for it in range(24):
    xs = torch.randn(32, 6)
    xt = torch.randn(32, 6) * 1.5 + 0.5
    task = adapter.update_task(xs, xs[:, :3].argmax(1), xt)
    domain = adapter.update_domain(xs, xt)
    if it % 8 == 7:
        print(f"it {it + 1} task {task:.4f} domain {domain:.4f}")
