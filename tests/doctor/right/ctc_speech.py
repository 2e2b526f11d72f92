"""CTC over variable-length inputs: log_softmax(dim=2) transposed to (T, N, C), greedy decoding at validation."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(96)
BLANK, CLASSES = 0, 6


class Recognizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(5, 24, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(48, CLASSES)

    def forward(self, x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        out, _ = nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True, total_length=x.size(1))
        return F.log_softmax(self.fc(out), dim=2)


def make_batch(n):
    xs, ys, xl, yl = torch.zeros(n, 16, 5), [], [], []
    for i in range(n):
        label = torch.randint(1, CLASSES, (int(torch.randint(2, 5, ())),))
        frames = torch.cat([F.one_hot(c - 1, 5).float().repeat(int(torch.randint(2, 4, ())), 1) for c in label])
        frames = torch.cat([torch.zeros(1, 5), frames, torch.zeros(3, 5)])
        xs[i, :len(frames)] = frames + 0.1 * torch.randn_like(frames)
        ys.append(label), xl.append(len(frames)), yl.append(len(label))
    return xs, torch.cat(ys), torch.tensor(xl), torch.tensor(yl)


def greedy(log_probs, lengths):
    for row, n in zip(log_probs.argmax(2), lengths):
        path = torch.unique_consecutive(row[:n])
        yield path[path != BLANK].tolist()


model = Recognizer()
ctc = nn.CTCLoss(blank=BLANK, zero_infinity=True)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-2)
for epoch in range(4):
    model.train()
    for _ in range(8):
        x, y, xl, yl = make_batch(8)
        loss = ctc(model(x, xl).transpose(0, 1), y, xl, yl)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    model.eval()
    with torch.no_grad():
        x, y, xl, yl = make_batch(16)
        hyp = list(greedy(model(x, xl), xl))
        exact = sum(h == t.tolist() for h, t in zip(hyp, y.split(yl.tolist())))
    print(f"epoch {epoch} ctc {loss.item():.3f} exact {exact}/16")
