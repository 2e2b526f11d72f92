import math

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1337)
block_size, vocab, n_embd = 32, 40, 48
data = torch.cumsum(torch.randint(0, 3, (4000,)), 0) % vocab
splits = {"train": data[:3600], "val": data[3600:]}


class TinyLM(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(vocab, n_embd)
        self.pos = nn.Embedding(block_size, n_embd)
        self.block = nn.TransformerEncoderLayer(n_embd, 4, 96, dropout=0.1, batch_first=True)
        self.head = nn.Linear(n_embd, vocab)

    def forward(self, idx, targets):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1)))
        mask = nn.Transformer.generate_square_subsequent_mask(idx.size(1))
        logits = self.head(self.block(x, src_mask=mask))
        return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def get_batch(split, n=16):
    d = splits[split]
    ix = torch.randint(len(d) - block_size - 1, (n,))
    x = torch.stack([d[i:i + block_size] for i in ix])
    y = torch.stack([d[i + 1:i + 1 + block_size] for i in ix])
    return x, y


def estimate_loss(model, iters=8):  # or here
    model.eval()
    losses = torch.zeros(iters)
    for k in range(iters):  # or here
        x, y = get_batch("val")
        losses[k] = model(x, y).item()  # here
    model.train()
    return losses.mean().item()


model = TinyLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for it in range(31):
    if it % 10 == 0:
        val = estimate_loss(model)  # or here
        print(f"iter {it}: val ppl {math.exp(val):.2f}")
    x, y = get_batch("train")
    loss = model(x, y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
