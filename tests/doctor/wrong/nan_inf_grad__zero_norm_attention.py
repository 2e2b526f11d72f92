import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence


class CosinePool(nn.Module):
    """Weights the tokens of a sentence by cosine similarity with a query."""

    def __init__(self, vocab, dim, classes):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.query = nn.Parameter(torch.randn(dim))
        self.fc = nn.Linear(dim, classes)

    def forward(self, tokens):
        e = self.emb(tokens)
        unit = e / e.norm(dim=-1, keepdim=True)  # here
        score = unit @ F.normalize(self.query, dim=0)
        score = score.masked_fill(tokens == 0, -1e4)
        w = score.softmax(dim=1).unsqueeze(-1)
        return self.fc((w * e).sum(dim=1))


def make_batch(n, lengths):
    sents = [torch.randint(1, 30, (lengths[i % len(lengths)],)) for i in range(n)]
    label = torch.tensor([int((s > 15).float().mean() > 0.5) for s in sents])
    return pad_sequence(sents, batch_first=True), label


torch.manual_seed(0)
model = CosinePool(30, 12, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(16):
    lengths = [6, 6, 6] if step < 8 else [4, 6, 9]
    tokens, label = make_batch(24, lengths)
    loss = F.cross_entropy(model(tokens), label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"step {step} loss {loss.item():.4f}")
