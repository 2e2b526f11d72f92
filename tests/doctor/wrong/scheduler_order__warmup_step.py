import torch
import torch.nn as nn
import torch.nn.functional as F


class WarmupDecay:
    def __init__(self, warmup, total):
        self.warmup, self.total = warmup, total

    def __call__(self, step):
        if step < self.warmup:
            return (step + 1) / self.warmup
        return max(0.05, (self.total - step) / (self.total - self.warmup))


class TextEncoder(nn.Module):
    def __init__(self, vocab=30, dim=24):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.enc = nn.TransformerEncoderLayer(dim, 4, 48, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, 2)

    def forward(self, ids):
        return self.out(self.enc(self.emb(ids)).mean(1))


class Runner:
    def __init__(self, total):
        self.model = TextEncoder()
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=3e-3)
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, WarmupDecay(5, total))
        self.total = total

    def step(self, ids, y):
        self.opt.zero_grad()
        loss = F.cross_entropy(self.model(ids), y)
        loss.backward()
        self.sched.step()  # here
        self.opt.step()  # or here
        return loss.item()

    def run(self):
        self.model.train()
        for it in range(self.total):
            ids = torch.randint(0, 30, (16, 10))
            loss = self.step(ids, (ids.float().mean(1) > 14.5).long())
            if it % 6 == 5:
                print(f"it {it + 1} loss {loss:.4f} lr {self.sched.get_last_lr()[0]:.5f}")


torch.manual_seed(0)
Runner(30).run()
