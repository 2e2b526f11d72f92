import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence

torch.manual_seed(0)
PAD, VOCAB, MICRO = -100, 24, 4


def micro_batch(longest):
    src, tgt = [], []
    for _ in range(6):
        n = int(torch.randint(max(2, longest // 2), longest + 1, (1,)))
        s = torch.randint(1, VOCAB, (n,))
        src.append(s)
        tgt.append((s * 3) % VOCAB)
    return pad_sequence(src, batch_first=True), pad_sequence(tgt, batch_first=True, padding_value=PAD)


class Seq2Seq(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * dim, VOCAB)

    def forward(self, src):
        return self.out(self.rnn(self.emb(src))[0])


model = Seq2Seq()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss(ignore_index=PAD)

for step in range(12):
    optimizer.zero_grad()
    shown = 0.0
    for longest in (5, 12, 20, 40):
        src, tgt = micro_batch(longest)
        logits = model(src)
        loss = criterion(logits.flatten(0, 1), tgt.flatten()) / MICRO  # here
        loss.backward()  # or here
        shown += loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 4 == 3:
        print(f"step {step + 1} loss {shown:.4f}")
