"""Typical lines of training code: a type checker has nothing to say about them (`test_stubs.py`). Nothing runs this."""

import math
from collections.abc import Iterator

import rushlight as torch
import rushlight.nn as nn
import rushlight.nn.functional as F
import rushlight.optim as optim
from rushlight import Tensor
from rushlight.nn.utils import clip_grad_norm_
from rushlight.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, StepLR
from rushlight.utils.data import DataLoader, Dataset, TensorDataset, random_split

# tensors
a = torch.zeros(2, 3)
b = torch.zeros((2, 3), dtype=torch.float32)
c = torch.ones(4, requires_grad=True)
d = torch.randn(2, 3, 4, device="cpu")
e = torch.rand([5, 5], generator=torch.Generator().manual_seed(0))
f = torch.empty(3, dtype=torch.int64)
g = torch.full((2, 2), math.pi)
h = torch.arange(10)
i = torch.arange(0, 1, 0.1)
j = torch.linspace(0, 1, steps=5)
k = torch.eye(3)
m = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
n = torch.randint(0, 10, (3,))
o = torch.randint(10, (3, 4), dtype=torch.long)
p = torch.randperm(10)
q = torch.zeros_like(a)
r = torch.ones_like(b, dtype=torch.float64)
s = torch.as_tensor([1, 2, 3])
t = torch.from_numpy(a.numpy())
u = torch.cat([a, b], dim=0)
v = torch.stack((a, b), 1)
w = torch.full_like(a, 2)
x = torch.randn(*a.shape)
y = torch.zeros(a.size(0), a.shape[1])
z = torch.Tensor(2, 3)

# attributes
rows: int = a.shape[0]
columns: int = a.size(1)
number: int = a.numel()
rank: int = a.dim() + a.ndim
one, two = a.shape
kind: torch.dtype = a.dtype
place: torch.device = a.device
needed: bool = c.requires_grad
known: bool = a.is_contiguous() and a.is_floating_point()
print(a.grad is None, a.is_leaf, a.T.shape, a.data.mean())
print(f"{a.mean():.3f} {a.sum().item():.2f} {list(a.size())}")

# arithmetic
total = a + b
total = total - 1
total = 2 * total / 3
total = 1 - total
total = 1 / (1 + total)
total = total**2 + 2**total
total = -total
total = total @ total.T
total += 1
total *= a.mean()
total /= 2
total = a % 2 + a // 2
mask = (a > 0) & (b < 1)
mask = ~mask | (a >= b)
mask = a == b
mask = a != 0
same = (a == b).all().item()
right = (a.argmax(1) == h[:2]).sum().item()
share = right / len(a)
if a.sum() > 0 and not torch.isnan(a).any():
    print(float(a.mean()), int(a.sum()), bool(a.all()), len(a))
for row in a:
    print(row.norm())
first, second = a[0], a[1, 2]
column = a[:, 1]
last = a[..., -1]
wide = a[None, :, :]
chosen = a[a > 0]
picked = a[[0, 1]]
picked = a[torch.tensor([0, 1])]
a[0] = 1
a[:, 1] = b[:, 1]
a[a > 0] = 0.0

# operations
print(a.sum(), a.sum(0), a.sum(dim=1, keepdim=True), a.sum((0, 1)))
print(a.mean(), a.mean(-1), a.mean(dim=(0, 1), keepdim=True))
print(a.std(), a.var(dim=0, unbiased=False), a.norm(), a.norm(2, dim=1), a.abs().max())
values, places = a.max(dim=1)
best = a.max(1)[1]
best = torch.max(a, 1).indices
highest = torch.max(a, b)
lowest = a.min().item()
top, where = a.topk(2, dim=-1)
found = torch.topk(a, 2).values
ordered, order = torch.sort(a, descending=True)
print(a.argmax(), a.argmax(dim=1), torch.argmax(a, dim=1, keepdim=True), a.argsort())
print(a.view(-1), a.view(3, 2), a.view(a.size(0), -1), a.reshape((3, 2)), a.reshape(-1, 1))
print(a.t(), a.transpose(0, 1), d.permute(2, 0, 1), a.flatten(), d.flatten(1), d.flatten(start_dim=1))
print(a.unsqueeze(0), a.squeeze(), a.squeeze(0), a.expand(2, 3), a.repeat(2, 1), a.expand_as(b))
print(a.clone(), a.detach(), a.contiguous(), a.cpu(), a.to("cpu"), a.to(torch.float64), a.to(b))
print(a.to(place), a.to(place, non_blocking=True), a.float(), a.long(), a.bool(), a.half(), a.double(), a.int())
print(a.exp(), a.log(), a.sqrt(), a.sigmoid(), a.tanh(), a.relu(), a.softmax(-1), a.log_softmax(dim=1))
print(a.clamp(0, 1), a.clamp(min=0), a.clamp(max=1.0), torch.clamp(a, min=1e-6), a.pow(2), a.round(), a.cumsum(0))
print(a.tolist(), a.numpy().shape, a.detach().cpu().numpy(), a.item())
print(torch.where(a > 0, a, b), torch.where(a > 0, a, 0.0), torch.where(a > 0)[0], a.where(a > 0, b))
print(torch.matmul(a, b.T), torch.mm(a, b.t()), torch.bmm(d, d.transpose(1, 2)), torch.einsum("ij,kj->ik", a, b))
print(torch.chunk(a, 2, dim=1)[0], a.split(1), torch.split(a, [1, 1]), a.unbind(0), d.chunk(3, -1))
print(a.gather(1, o), a.index_select(0, p), a.masked_fill(mask, -1e9), a.scatter(1, o, 1.0), a.nonzero())
print(a.masked_fill(mask, float("-inf")), torch.tril(k), torch.triu(k, diagonal=1), k.diagonal(), torch.diag(c))
print(torch.allclose(a, b, atol=1e-6), torch.equal(a, b), torch.isfinite(a).all(), torch.unique(h), h.bincount())
print(torch.outer(c, c), torch.dot(c, c), torch.cdist(a, b), torch.norm(a), torch.linalg.norm(a), torch.flip(a, [0]))
print(torch.logsumexp(a, dim=1), torch.cumsum(a, dim=0), torch.meshgrid(c, c, indexing="ij"), torch.roll(a, 1, 0))
print(torch.multinomial(a.softmax(1), 1), torch.bernoulli(a), torch.normal(0.0, 1.0, (2, 2)), torch.histc(a, bins=4))
print(
    torch.maximum(a, b),
    torch.minimum(a, b),
    torch.abs(a),
    torch.sin(a),
    torch.exp(-a),
    torch.sign(a),
    torch.lerp(a, b, 0.5),
)
print(torch.sum(a, dim=1), torch.mean(a, 0), torch.prod(a), torch.any(mask), torch.all(mask, dim=1), torch.squeeze(a))
c.data.add_(1.0).mul_(0.5)
c.grad = None
a.zero_().fill_(1.0)
a.copy_(b)
a.uniform_(-1, 1)
a.normal_(0, 0.02)
a.clamp_(min=0)
a.add_(b, alpha=-0.1)
a.addcmul_(a, b, value=0.5)
a.addcdiv_(a, b, value=-0.1)
a.lerp_(b, 0.1)

# autograd
loss = (c * 2).pow(2).sum()
loss.backward()
loss.backward(retain_graph=True)
assert c.grad is not None
print(c.grad.norm(), c.grad.data)
(slope,) = torch.autograd.grad(loss, [c], create_graph=True)
c.register_hook(lambda grad: grad * 2)
with torch.no_grad():
    c -= 0.1 * c.grad
with torch.enable_grad(), torch.set_grad_enabled(True):
    c.requires_grad_(False)


@torch.no_grad()
def frozen(x: Tensor) -> Tensor:
    return x.detach().requires_grad_()


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


squared = Square.apply(c)


# modules
class Block(nn.Module):
    def __init__(self, width: int, p: float = 0.1):
        super().__init__()
        self.conv = nn.Conv2d(width, width, kernel_size=3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.act = nn.ReLU(inplace=True)
        self.drop = nn.Dropout(p)
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("steps", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        y = self.drop(self.act(self.norm(self.conv(x))))
        return x + self.scale * y


class Net(nn.Module):
    def __init__(self, classes: int = 10):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2), nn.ReLU(), nn.MaxPool2d(2))
        self.blocks = nn.ModuleList([Block(16) for _ in range(3)])
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.head = nn.Linear(16, classes)
        self.embed = nn.Embedding(100, 16, padding_idx=0)
        self.lstm = nn.LSTM(16, 32, num_layers=2, batch_first=True)
        self.attend = nn.MultiheadAttention(16, num_heads=4, batch_first=True)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, batch_first=True), num_layers=2)
        nn.init.xavier_uniform_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x: Tensor, tokens: Tensor | None = None) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        x = self.pool(x).flatten(1)
        if tokens is not None:
            out, (hidden, _) = self.lstm(self.embed(tokens))
            mixed, _ = self.attend(out, out, out, need_weights=False)
            x = x + hidden[-1] + mixed.mean(1)
        return F.log_softmax(self.head(F.relu(x)), dim=1)


net = Net(classes=10).to("cpu")
net.train()
net.eval()
net.apply(lambda module: None)
count = sum(p.numel() for p in net.parameters() if p.requires_grad)
for name, parameter in net.named_parameters():
    print(name, tuple(parameter.shape), parameter.grad)
for module in net.modules():
    if isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, std=0.02)
net.head.weight.requires_grad = False
net.load_state_dict(net.state_dict(), strict=True)
torch.save({"model": net.state_dict(), "epoch": 3}, "checkpoint.pt")
state = torch.load("checkpoint.pt", map_location="cpu", weights_only=True)
net.load_state_dict(state["model"])
compiled = torch.compile(net)

# functions and losses
image, labels = torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))
logits = net(image)
print(F.cross_entropy(logits, labels), F.nll_loss(logits, labels), F.mse_loss(a, b), F.l1_loss(a, b, reduction="sum"))
print(F.binary_cross_entropy_with_logits(a, b), F.softmax(a, dim=-1), F.gelu(a), F.silu(a), F.one_hot(labels, 10))
print(F.conv2d(image, torch.randn(4, 3, 3, 3), padding=1), F.max_pool2d(image, 2), F.avg_pool2d(image, kernel_size=2))
print(F.dropout(a, 0.5, training=net.training), F.layer_norm(a, (3,)), F.normalize(a, dim=1), F.pad(a, (1, 1)))
print(F.interpolate(image, scale_factor=2, mode="bilinear", align_corners=False), F.cosine_similarity(a, b))
print(F.linear(a, b), F.embedding(labels, a), F.relu(a, inplace=True), F.leaky_relu(a, 0.2), F.unfold(image, 3))
print(F.scaled_dot_product_attention(d, d, d, is_causal=True), F.smooth_l1_loss(a, b), F.kl_div(a, b))
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
error: Tensor = criterion(logits, labels)

# optimizers and schedules
sgd = optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
adam = optim.Adam([{"params": net.head.parameters(), "lr": 1e-3}], betas=(0.9, 0.999))
adamw = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], lr=3e-4, weight_decay=0.01)
step = StepLR(sgd, step_size=30, gamma=0.1)
cosine = CosineAnnealingLR(adamw, T_max=100)
warmup = LambdaLR(sgd, lr_lambda=lambda epoch: min(1.0, epoch / 10))
sgd.zero_grad(set_to_none=True)
error.backward()
clip_grad_norm_(net.parameters(), max_norm=1.0)
torch.nn.utils.clip_grad_value_(net.parameters(), 0.5)
sgd.step()
step.step()
rate = step.get_last_lr()[0]
sgd.param_groups[0]["lr"] = rate * 0.5
sgd.load_state_dict(sgd.state_dict())

# mixed precision
scaler = torch.amp.GradScaler("cuda", enabled=False)
with torch.autocast("cpu", dtype=torch.bfloat16):
    error = criterion(net(image), labels)
with torch.autocast(device_type="cpu", enabled=True):
    error = error + criterion(net(image), labels)
scaler.scale(error).backward()
scaler.step(sgd)
scaler.update()


# data
class Numbers(Dataset):
    def __init__(self, n: int):
        self.x = torch.randn(n, 4)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        return self.x[index], index % 2


def batches(size: int) -> Iterator[Tensor]:
    for batch, _ in DataLoader(Numbers(10), batch_size=size, shuffle=True, num_workers=0, drop_last=True):
        yield batch.to(place, non_blocking=True)


data = TensorDataset(image, labels)
train, test = random_split(data, [6, 2], generator=torch.Generator().manual_seed(0))
loader = DataLoader(train, batch_size=2, shuffle=True, pin_memory=False)
running = 0.0
for epoch in range(3):
    for i, (images, targets) in enumerate(loader):
        images, targets = images.to(place), targets.to(place)
        output = net(images)
        error = F.cross_entropy(output, targets)
        error.backward()
        running += error.item() * images.size(0) / (i + 1)
        accuracy = (output.argmax(dim=1) == targets).float().mean()
    print(f"epoch {epoch}: {running / len(loader):.4f}", len(train), len(loader))

# settings
torch.manual_seed(0)
torch.set_default_dtype(torch.float32)
torch.set_printoptions(precision=4)
torch.set_num_threads(2)
torch.backends.cudnn.benchmark = True
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(
    torch.__version__, torch.get_num_threads(), torch.is_tensor(a), torch.finfo(torch.float32).eps, torch.inf, torch.pi
)
weights_of = torch.nn.functional.one_hot(labels).float().T
normal = torch.distributions.Normal(0.0, 1.0).sample((3,))
resize = torch.vision.transforms.Resize(32)
