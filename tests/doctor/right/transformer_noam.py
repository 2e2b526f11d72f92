import math
import torch
from torch import nn
torch.manual_seed(0)
class Sched:
    def __init__(self, opt, d, warm): self.o, self.d, self.w, self.n = opt, d, warm, 0
    def step_and_update_lr(self):
        self.n += 1
        lr = self.d ** -0.5 * min(self.n ** -0.5, self.n * self.w ** -1.5)
        for g in self.o.param_groups: g["lr"] = lr
        self.o.step()
    def zero_grad(self): self.o.zero_grad()
tr = nn.Transformer(d_model=16, nhead=2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=32, batch_first=True)
src_e, tgt_e, gen = nn.Embedding(11, 16), nn.Embedding(11, 16), nn.Linear(16, 11)
params = [*tr.parameters(), *src_e.parameters(), *tgt_e.parameters(), *gen.parameters()]
for p in params:
    if p.dim() > 1: nn.init.xavier_uniform_(p)
s = Sched(torch.optim.Adam(params, betas=(0.9, 0.98), eps=1e-9), 16, 10)
for i in range(8):
    src, tgt = torch.randint(1, 11, (4, 7)), torch.randint(1, 11, (4, 6))
    src[0, 5:] = 0
    mask = nn.Transformer.generate_square_subsequent_mask(5)
    out = tr(src_e(src) * math.sqrt(16), tgt_e(tgt[:, :-1]), tgt_mask=mask, src_key_padding_mask=src == 0)
    loss = nn.functional.cross_entropy(gen(out).reshape(-1, 11), tgt[:, 1:].reshape(-1), ignore_index=0, label_smoothing=0.1)
    s.zero_grad()
    loss.backward()
    s.step_and_update_lr()
print(loss.item())
