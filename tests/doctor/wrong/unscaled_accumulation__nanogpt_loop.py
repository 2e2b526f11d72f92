import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1337)
gradient_accumulation_steps = 4
batch_size, block_size, vocab_size = 8, 16, 32
grad_clip, max_iters = 1.0, 12
train_data = torch.cumsum(torch.randint(0, 4, (3000,)), 0) % vocab_size


class GPT(nn.Module):
    def __init__(self, n_embd=32):
        super().__init__()
        self.wte = nn.Embedding(vocab_size, n_embd)
        self.wpe = nn.Embedding(block_size, n_embd)
        self.attn = nn.MultiheadAttention(n_embd, 4, batch_first=True)
        self.ln = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)

    def forward(self, idx, targets):
        T = idx.size(1)
        x = self.wte(idx) + self.wpe(torch.arange(T))
        mask = torch.triu(torch.ones(T, T, dtype=torch.bool), 1)
        h, _ = self.attn(x, x, x, attn_mask=mask, need_weights=False)
        logits = self.lm_head(self.ln(x + h))
        loss = F.cross_entropy(logits.view(-1, vocab_size), targets.view(-1))
        return logits, loss


def get_batch():
    ix = torch.randint(len(train_data) - block_size - 1, (batch_size,))
    x = torch.stack([train_data[i:i + block_size] for i in ix])
    y = torch.stack([train_data[i + 1:i + 1 + block_size] for i in ix])
    return x, y


model = GPT()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
X, Y = get_batch()
t0 = time.time()
for iter_num in range(max_iters):
    for micro_step in range(gradient_accumulation_steps):
        _, loss = model(X, Y)  # or here
        X, Y = get_batch()
        loss.backward()  # here
    torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    if iter_num % 4 == 0:
        print(f"iter {iter_num}: loss {loss.item():.4f}")
