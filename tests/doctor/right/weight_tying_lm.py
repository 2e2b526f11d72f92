import torch
from torch import nn


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 8)
        self.body = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1)
        self.head = nn.Linear(8, 20, bias=False)
        self.head.weight = self.emb.weight

    def forward(self, x):
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(1))
        return self.head(self.body(self.emb(x), mask=mask, is_causal=True))


torch.manual_seed(0)
m = LM()
opt = torch.optim.AdamW(m.parameters(), lr=1e-3)
for step in range(8):
    ids = torch.randint(0, 20, (4, 9))
    opt.zero_grad(set_to_none=True)
    nn.functional.cross_entropy(m(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()
    torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    opt.step()
m.eval()
with torch.no_grad():
    ids = torch.zeros(1, 1, dtype=torch.long)
    for _ in range(6):
        ids = torch.cat([ids, m(ids)[:, -1:].argmax(-1)], 1)
