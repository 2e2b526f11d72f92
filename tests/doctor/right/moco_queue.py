"""MoCo: momentum encoder under no_grad, a queue buffer written in place after the loss."""
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(90)


class MoCo(nn.Module):
    def __init__(self, dim=8, K=64, m=0.95, T=0.2):
        super().__init__()
        self.K, self.m, self.T = K, m, T
        self.encoder_q = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, dim))
        self.encoder_k = copy.deepcopy(self.encoder_q)
        for p in self.encoder_k.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(dim, K), dim=0))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def _momentum_update_key_encoder(self):
        for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            k.data = k.data * self.m + q.data * (1.0 - self.m)

    @torch.no_grad()
    def _dequeue_and_enqueue(self, keys):
        ptr = int(self.queue_ptr)
        self.queue[:, ptr:ptr + keys.size(0)] = keys.T
        self.queue_ptr[0] = (ptr + keys.size(0)) % self.K

    def forward(self, im_q, im_k):
        q = F.normalize(self.encoder_q(im_q), dim=1)
        with torch.no_grad():
            self._momentum_update_key_encoder()
            k = F.normalize(self.encoder_k(im_k), dim=1)
        l_pos = torch.einsum("nc,nc->n", q, k).unsqueeze(-1)
        l_neg = torch.einsum("nc,ck->nk", q, self.queue.clone().detach())
        logits = torch.cat([l_pos, l_neg], dim=1) / self.T
        labels = torch.zeros(logits.size(0), dtype=torch.long)
        self._dequeue_and_enqueue(k)
        return logits, labels


def augment(x):
    return x + 0.1 * torch.randn_like(x)


X = torch.randn(192, 12)
model = MoCo()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.encoder_q.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4)
for epoch in range(4):
    hits = 0
    for idx in torch.randperm(192).split(16):
        output, target = model(augment(X[idx]), augment(X[idx]))
        loss = criterion(output, target)
        hits += (output.argmax(1) == target).sum().item()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f} instance acc {hits / 192:.3f}")
