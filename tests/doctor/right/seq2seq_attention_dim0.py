"""The old sequence-first seq2seq: attention weights are a softmax over dim 0, which is source time."""
import torch
import torch.nn as nn
import torch.nn.functional as F
import random

torch.manual_seed(98)
random.seed(98)
VOCAB, SOS, HID = 12, 0, 24


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding, self.gru = nn.Embedding(VOCAB, HID), nn.GRU(HID, HID)

    def forward(self, src):                      # (S, B)
        return self.gru(self.embedding(src))     # (S, B, H), (1, B, H)


class AttnDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, HID)
        self.score = nn.Linear(2 * HID, HID)
        self.v = nn.Linear(HID, 1, bias=False)
        self.gru = nn.GRU(2 * HID, HID)
        self.out = nn.Linear(2 * HID, VOCAB)

    def forward(self, token, hidden, memory):
        query = hidden.expand(memory.size(0), -1, -1)
        energy = self.v(torch.tanh(self.score(torch.cat([query, memory], dim=2))))
        weights = F.softmax(energy, dim=0)       # (S, B, 1): sums to one over source positions
        context = (weights * memory).sum(0, keepdim=True)
        output, hidden = self.gru(torch.cat([self.embedding(token)[None], context], 2), hidden)
        return F.log_softmax(self.out(torch.cat([output[0], context[0]], 1)), dim=1), hidden


encoder, decoder = Encoder(), AttnDecoder()
enc_opt = torch.optim.Adam(encoder.parameters(), lr=1e-2)
dec_opt = torch.optim.Adam(decoder.parameters(), lr=1e-2)
criterion = nn.NLLLoss()
for epoch in range(4):
    running = 0.0
    for _ in range(8):
        src = torch.randint(1, VOCAB, (5, 12))
        tgt = src.flip(0)
        enc_opt.zero_grad()
        dec_opt.zero_grad()
        memory, hidden = encoder(src)
        token, loss = torch.full((12,), SOS), 0
        teacher_forcing = random.random() < 0.7
        for t in range(tgt.size(0)):
            logp, hidden = decoder(token, hidden, memory)
            loss = loss + criterion(logp, tgt[t])
            token = tgt[t] if teacher_forcing else logp.argmax(1).detach()
        loss.backward()
        enc_opt.step()
        dec_opt.step()
        running += loss.item() / tgt.size(0)
    print(f"epoch {epoch} loss per token {running / 8:.4f}")
