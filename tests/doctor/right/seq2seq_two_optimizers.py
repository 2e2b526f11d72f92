import copy, math, random, itertools
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
random.seed(0)

class EncoderRNN(nn.Module):
    def __init__(self, n, h):
        super().__init__()
        self.embedding, self.gru, self.h = nn.Embedding(n, h), nn.GRU(h, h), h

    def forward(self, w, hidden):
        return self.gru(self.embedding(w).view(1, 1, -1), hidden)


class AttnDecoderRNN(nn.Module):
    def __init__(self, h, n, max_length=8):
        super().__init__()
        self.embedding, self.gru = nn.Embedding(n, h), nn.GRU(h, h)
        self.attn, self.combine, self.out = nn.Linear(2 * h, max_length), nn.Linear(2 * h, h), nn.Linear(h, n)
        self.dropout = nn.Dropout(0.1)

    def forward(self, w, hidden, enc):
        e = self.dropout(self.embedding(w).view(1, 1, -1))
        a = F.softmax(self.attn(torch.cat((e[0], hidden[0]), 1)), dim=1)
        ctx = torch.bmm(a.unsqueeze(0), enc.unsqueeze(0))
        o = F.relu(self.combine(torch.cat((e[0], ctx[0]), 1)).unsqueeze(0))
        o, hidden = self.gru(o, hidden)
        return F.log_softmax(self.out(o[0]), dim=1), hidden


def train(src, tgt, encoder, decoder, eo, do, criterion, forcing=0.5):
    hidden = torch.zeros(1, 1, encoder.h)
    eo.zero_grad()
    do.zero_grad()
    enc = torch.zeros(8, encoder.h)
    loss = 0
    for i in range(src.size(0)):
        out, hidden = encoder(src[i], hidden)
        enc[i] = out[0, 0]
    w = torch.tensor([[0]])
    use = random.random() < forcing
    for i in range(tgt.size(0)):
        out, hidden = decoder(w, hidden, enc)
        loss += criterion(out, tgt[i])
        if use:
            w = tgt[i]
        else:
            _, top = out.topk(1)
            w = top.squeeze().detach()
            if w.item() == 1:
                break
    loss.backward()
    eo.step()
    do.step()
    return loss.item() / tgt.size(0)


encoder, decoder = EncoderRNN(12, 16), AttnDecoderRNN(16, 12)
eo, do = torch.optim.SGD(encoder.parameters(), lr=0.05), torch.optim.SGD(decoder.parameters(), lr=0.05)
criterion = nn.NLLLoss()
for it in range(12):
    s = torch.randint(2, 12, (random.randint(3, 6), 1))
    loss = train(s, torch.cat([s.flip(0), torch.tensor([[1]])]), encoder, decoder, eo, do, criterion)
    if it % 4 == 0:
        print(it, round(loss, 3))
