import argparse
import os
import tempfile

import torch
import torch.nn as nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR


class Backbone(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.stage = nn.Sequential(nn.Conv2d(width, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU())
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(width, 100)

    def forward(self, x):
        x = self.stage(self.stem(x))
        return self.fc(self.pool(x).flatten(1))


def pretrained(path):
    torch.manual_seed(42)
    torch.save(Backbone().state_dict(), path)


def build(path, num_classes):
    net = Backbone()
    net.load_state_dict(torch.load(path, weights_only=True))
    net.fc = nn.Linear(net.fc.in_features, num_classes)
    for param in net.parameters():
        param.requires_grad = False  # here
    return net


def param_groups(net, lr):
    head = [p for n, p in net.named_parameters() if n.startswith("fc")]
    body = [p for n, p in net.named_parameters() if not n.startswith("fc") and p.requires_grad]
    groups = [{"params": head, "lr": lr}]
    if body:
        groups.append({"params": body, "lr": lr * 0.1})
    return groups


def loop(net, batches, criterion, optimizer, scheduler):
    net.train()
    seen = hits = 0
    for x, y in batches:
        out = net(x)
        loss = criterion(out, y)
        optimizer.zero_grad()
        loss.backward()  # or here
        optimizer.step()
        scheduler.step()
        seen += len(y)
        hits += (out.argmax(1) == y).sum().item()
    return hits / seen


@torch.inference_mode()
def test(net, batches):
    net.eval()
    return sum((net(x).argmax(1) == y).float().mean().item() for x, y in batches) / len(batches)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--epochs", type=int, default=3)
    opts = parser.parse_args()
    with tempfile.TemporaryDirectory() as tmp:
        ckpt = os.path.join(tmp, "backbone.pt")
        pretrained(ckpt)
        net = build(ckpt, 4)
    y = torch.randint(0, 4, (8, 8))
    data = [(torch.randn(8, 3, 8, 8) + yi.view(-1, 1, 1, 1).float(), yi) for yi in y]
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    steps = opts.epochs * 6
    optimizer = torch.optim.SGD(param_groups(net, opts.lr), momentum=0.9, weight_decay=1e-3)
    warm = LinearLR(optimizer, 0.1, total_iters=3)
    scheduler = SequentialLR(optimizer, [warm, CosineAnnealingLR(optimizer, steps - 3)], milestones=[3])
    for epoch in range(opts.epochs):
        acc = loop(net, data[:6], criterion, optimizer, scheduler)
        print(f"epoch {epoch} train acc {acc:.3f} test acc {test(net, data[6:]):.3f}")


if __name__ == "__main__":
    main()
