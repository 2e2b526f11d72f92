"""Hand-written label smoothing on log_softmax, and log of softmax with NLLLoss for the auxiliary head."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(94)


class LabelSmoothing(nn.Module):
    def __init__(self, smoothing=0.1):
        super().__init__()
        self.confidence, self.smoothing = 1.0 - smoothing, smoothing

    def forward(self, logits, target):
        logprobs = F.log_softmax(logits, dim=-1)
        nll = -logprobs.gather(dim=-1, index=target.unsqueeze(1)).squeeze(1)
        smooth = -logprobs.mean(dim=-1)
        return (self.confidence * nll + self.smoothing * smooth).mean()


class AuxNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(9, 32), nn.ReLU())
        self.aux = nn.Sequential(nn.Linear(32, 4), nn.Softmax(dim=1))
        self.deep = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))

    def forward(self, x):
        h = self.stem(x)
        return self.deep(h), self.aux(h)


X = torch.randn(180, 9)
Y = X[:, :4].argmax(1)
net = AuxNet()
main_loss, aux_loss = LabelSmoothing(0.1), nn.NLLLoss()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(5):
    net.train()
    for idx in torch.randperm(150).split(15):
        logits, probs = net(X[idx])
        loss = main_loss(logits, Y[idx]) + 0.3 * aux_loss(torch.log(probs + 1e-8), Y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    net.eval()
    with torch.no_grad():
        logits, probs = net(X[150:])
        confidence = F.softmax(logits, dim=1).max(1).values.mean()
        val = F.cross_entropy(logits, Y[150:])
    print(f"epoch {epoch} loss {loss.item():.4f} val {val.item():.4f} confidence {confidence.item():.3f}")
