"""A small language model: Embedding, LayerNorm, GELU, clipped gradients, AdamW with two parameter groups."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(20, 16, padding_idx=0)
        self.places = nn.Embedding(12, 16)
        self.norm1 = nn.LayerNorm(16)
        self.hidden = nn.Linear(16 * 3, 48)
        self.norm2 = nn.LayerNorm(48)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(48, 20)

    def forward(self, x):
        h = self.norm1(self.tokens(x) + self.places(torch.arange(x.size(1))))
        window = torch.cat([h, h.roll(1, dims=1), h.roll(2, dims=1)], dim=-1)
        return self.out(self.drop(self.norm2(F.gelu(self.hidden(window)))))


torch.manual_seed(11)
text = torch.cat([torch.arange(1, 20).repeat(30), torch.randint(0, 20, (200,))])
model = Model()
decayed = [p for p in model.parameters() if p.dim() > 1]
others = [p for p in model.parameters() if p.dim() == 1]
optimizer = torch.optim.AdamW(
    [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}], lr=0.01
)
for step in range(100):
    start = torch.randint(len(text) - 13, (8,))
    x = torch.stack([text[i : i + 12] for i in start])
    y = torch.stack([text[i + 1 : i + 13] for i in start])
    logits = model(x)
    loss = F.cross_entropy(logits.view(-1, 20), y.view(-1), ignore_index=0)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    size = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 10 == 9:
        print(f"step {step + 1} loss {loss.item():.4f} gradient {size.item():.4f}")
model.eval()
with torch.no_grad():
    x = torch.tensor([[5, 6, 7]])
    for _ in range(6):
        probabilities = F.softmax(model(x)[:, -1], dim=-1)
        x = torch.cat([x, torch.multinomial(probabilities, 1)], dim=1)
print(x)
print("padding row", model.tokens.weight[0, :4].tolist())
