"""Weight tying: one tensor is both embedding and output layer; the optimizer is built by decay groups."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(71)
V, D = 20, 24


class TiedLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(V, D)
        self.rnn = nn.GRU(D, D, batch_first=True)
        self.norm = nn.LayerNorm(D)
        self.decoder = nn.Linear(D, V)
        nn.init.normal_(self.embed.weight, std=0.1)
        self.decoder.weight = self.embed.weight

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        return self.decoder(self.norm(h))


def configure(model, lr, weight_decay):
    named = dict(model.named_parameters())  # a shared tensor appears once
    decay = [p for p in named.values() if p.dim() >= 2]
    rest = [p for p in named.values() if p.dim() < 2]
    return torch.optim.AdamW([
        {"params": decay, "weight_decay": weight_decay},
        {"params": rest, "weight_decay": 0.0},
    ], lr=lr)


stream = torch.zeros(1200, dtype=torch.long)
for i in range(2, 1200):
    stream[i] = (stream[i - 1] + stream[i - 2] + 1) % V
chunks = stream.view(-1, 12)
model = TiedLM()
opt = configure(model, 1e-2, 0.01)
for epoch in range(4):
    model.train()
    for rows in torch.randperm(90).split(10):
        batch = chunks[rows]
        logits = model(batch[:, :-1])
        loss = F.cross_entropy(logits.reshape(-1, V), batch[:, 1:].reshape(-1))
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        held = chunks[90:]
        val = F.cross_entropy(model(held[:, :-1]).transpose(1, 2), held[:, 1:])
    print(f"epoch {epoch} train {loss.item():.3f} val {val.item():.3f} tied {model.decoder.weight is model.embed.weight}")
