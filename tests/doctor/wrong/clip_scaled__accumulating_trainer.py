import torch
from torch import nn


class AmpTrainer:
    def __init__(self, model, lr, accumulate, clip_value):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0 ** 12)
        self.accumulate = accumulate
        self.clip_value = clip_value
        self.micro = 0

    def _apply(self):
        nn.utils.clip_grad_value_(self.model.parameters(), self.clip_value)  # here
        self.scaler.step(self.optimizer)  # or here
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)

    def feed(self, tokens, target):
        with torch.amp.autocast("cpu", dtype=torch.bfloat16):
            logits = self.model(tokens)
            loss = nn.functional.cross_entropy(logits, target) / self.accumulate
        self.scaler.scale(loss).backward()  # or here
        self.micro += 1
        if self.micro % self.accumulate == 0:
            self._apply()
        return loss.item() * self.accumulate


class MeanPool(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(30, 16)
        self.mlp = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, tokens):
        return self.mlp(self.emb(tokens).mean(dim=1))


torch.manual_seed(0)
trainer = AmpTrainer(MeanPool(), lr=5e-3, accumulate=2, clip_value=0.5)
for epoch in range(3):
    losses = []
    for _ in range(12):
        tokens = torch.randint(0, 30, (16, 7))
        losses.append(trainer.feed(tokens, (tokens[:, 0] > 14).long()))
    print(f"epoch {epoch} loss {sum(losses) / len(losses):.4f}")
