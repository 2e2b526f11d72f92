"""A nanoGPT-style loop: micro steps, loss / gradient_accumulation_steps, scaler, clip, estimate_loss."""
import math
from contextlib import nullcontext
import torch
import torch.nn as nn
from torch.nn import functional as F

torch.manual_seed(1337)
gradient_accumulation_steps, batch_size, block_size, n_embd, vocab_size = 4, 6, 12, 24, 16
max_iters, eval_interval, eval_iters, grad_clip = 24, 8, 3, 1.0
learning_rate, min_lr, warmup_iters = 1e-2, 1e-3, 3
ctx = nullcontext()  # autocast on a GPU
data = (torch.arange(900) * 3 + torch.randint(0, 2, (900,))) % vocab_size
splits = {"train": data[:800], "val": data[800:]}


def get_batch(split):
    d = splits[split]
    ix = torch.randint(len(d) - block_size, (batch_size,))
    x = torch.stack([d[i:i + block_size] for i in ix])
    y = torch.stack([d[i + 1:i + 1 + block_size] for i in ix])
    return x, y


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, n_embd), nn.Embedding(block_size, n_embd)
        self.block = nn.TransformerEncoderLayer(n_embd, 4, 48, dropout=0.1, batch_first=True, norm_first=True)
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight
        nn.init.normal_(self.lm_head.weight, std=0.2)
        nn.init.normal_(self.wpe.weight, std=0.02)

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        mask = nn.Transformer.generate_square_subsequent_mask(idx.size(1))
        logits = self.lm_head(self.ln_f(self.block(x, src_mask=mask, is_causal=True)))
        return logits, None if targets is None else F.cross_entropy(logits.view(-1, vocab_size), targets.view(-1))


@torch.no_grad()
def estimate_loss():
    out = {}
    model.eval()
    for split in ["train", "val"]:
        out[split] = sum(model(*get_batch(split))[1].item() for _ in range(eval_iters)) / eval_iters
    model.train()
    return out


def get_lr(it):
    if it < warmup_iters:
        return learning_rate * (it + 1) / warmup_iters
    ratio = (it - warmup_iters) / (max_iters - warmup_iters)
    return min_lr + 0.5 * (1 + math.cos(math.pi * ratio)) * (learning_rate - min_lr)


model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95))
scaler = torch.amp.GradScaler("cpu", enabled=False)
X, Y = get_batch("train")
for iter_num in range(max_iters):
    for group in optimizer.param_groups:
        group["lr"] = get_lr(iter_num)
    if iter_num % eval_interval == 0:
        print(iter_num, estimate_loss())
    for micro_step in range(gradient_accumulation_steps):
        with ctx:
            logits, loss = model(X, Y)
            loss = loss / gradient_accumulation_steps
        X, Y = get_batch("train")
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
print("final", loss.item() * gradient_accumulation_steps)
