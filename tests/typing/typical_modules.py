"""Lines over the packages beside the core that are right: pyright must have nothing to say."""

import copy

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.utils.checkpoint
import torchvision
from torch.amp import GradScaler, autocast
from torch.backends import cudnn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, Dataset, IterableDataset
from torch.utils.data.distributed import DistributedSampler
from torchvision import datasets, models, ops, transforms
from torchvision.transforms import InterpolationMode, v2
from torchvision.utils import make_grid, save_image

# images
augment = transforms.Compose(
    [
        transforms.RandomResizedCrop(32, scale=(0.5, 1.0), interpolation=InterpolationMode.BICUBIC),
        transforms.ColorJitter(0.2, 0.1, (0.5, 1.5), 0.1),
        transforms.Pad((1, 2), fill=(0, 1, 2)),
        transforms.RandomRotation(10, fill=(0, 0, 0)),
        transforms.RandomAffine(10, translate=(0.1, 0.1), scale=(0.9, 1.1), shear=5, fill=0.5),
        transforms.RandomErasing(value="random"),
        transforms.Normalize([0.5], [0.5]),
    ]
)
v2.Compose([v2.Resize(224, interpolation=InterpolationMode.BICUBIC, antialias=True), v2.ToDtype(torch.float32)])
v2.RandomRotation(10, fill={torch.Tensor: 0})
v2.ElasticTransform(alpha=[1.0, 2.0], sigma=3)
v2.MixUp(alpha=0.2, num_classes=10)
faces = datasets.CelebA(".", target_type=["attr", "bbox"], transform=augment)
folder = datasets.ImageFolder("train", transform=augment)
print(len(folder.classes), folder.class_to_idx)
net = models.resnet18(weights=models.ResNet18_Weights.IMAGENET1K_V1)
net.fc = nn.Linear(net.fc.in_features, 10)
preprocess = models.ResNet50_Weights.DEFAULT.transforms()
boxes = ops.nms(torch.ones(1, 4), torch.ones(1), 0.5)
loss = ops.sigmoid_focal_loss(torch.ones(3), torch.ones(3), gamma=1.5, reduction="mean")
block = ops.Conv2dNormActivation(3, 4, kernel_size=(3, 5), stride=(1, 2), norm_layer=nn.BatchNorm2d, inplace=True)
save_image(make_grid(torch.ones(4, 3, 2, 2), pad_value=1, nrow=2), "grid.png")
torchvision.models.vgg16().features[0]


# checkpoints and networks
def init_weights(m: nn.Module):
    if isinstance(m, nn.Linear):
        nn.init.xavier_uniform_(m.weight)
        return m.bias.data.fill_(0.01)
    return None


net = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).apply(init_weights)
teacher = copy.deepcopy(net).eval().requires_grad_(False)
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
checkpoint = torch.load("checkpoint.pt", map_location="cpu", weights_only=True)
net.load_state_dict(checkpoint["model"])
optimizer.load_state_dict(checkpoint["optimizer"])
start = checkpoint["epoch"] + 1
recurrent = nn.LSTM(4, 8, num_layers=2, batch_first=True, dropout=0.1, bidirectional=True)
output, (h, c) = recurrent(torch.ones(1, 2, 4))
hidden = torch.utils.checkpoint.checkpoint(net, torch.ones(2, 4), use_reentrant=False)
product = torch.einsum("bij,bjk->bik", torch.ones(1, 2, 3), torch.ones(1, 3, 2))
product = torch.einsum(product, [0, 1, 2], product, [0, 2, 3], [0, 1, 3])


class Numbers(Dataset[torch.Tensor]):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        return torch.tensor(index)


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(3))


loader = DataLoader(Numbers(), batch_size=2, num_workers=0, drop_last=True)
print(len(loader.dataset), list(DataLoader(Stream())))
scaler = GradScaler("cpu")
for batch in loader:
    with autocast("cpu", dtype=torch.bfloat16):
        answer = net(batch)
        error = answer.sum()
    scaler.scale(error).backward()
    scaler.step(optimizer)
    scaler.update()
    print(error.item(), answer.shape)
cudnn.deterministic = True
torch.linalg.norm(torch.ones(2)).item()
torch.fft.fft(torch.ones(4)).abs()
torch.special.entr(torch.ones(4))
with torch.autograd.profiler.profile() as profile:
    net(torch.ones(1, 4))


# what is there for those who ask whether it can be used, and other words for the same
if torch.cuda.is_available():
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    torch.cuda.nvtx.range_push("step")
    print(torch.cuda.max_memory_allocated(), torch.cuda.get_device_name(0), torch.backends.cuda.matmul.allow_tf32)
if torch.backends.mps.is_available():
    torch.mps.empty_cache()
rows = torch.ones(2, 3)
print(rows.unsqueeze(axis=0), rows.cumsum(axis=1), rows.logsumexp(axis=1, keepdims=True), torch.cumprod(rows, dim=1))
half = net.to("cpu", torch.float64).to(torch.float32).to(rows)
torch.onnx.export(net, (torch.ones(1, 4),), "net.onnx")


# processes
def work(rank: int, world_size: int):
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    copies = DDP(net)
    sampler = DistributedSampler(Numbers(), num_replicas=dist.get_world_size(), rank=dist.get_rank())
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for batch in DataLoader(Numbers(), sampler=sampler):
            copies(batch).sum().backward()
    total = torch.ones(1)
    dist.all_reduce(total, op=dist.ReduceOp.SUM)
    dist.barrier()
    if dist.is_initialized():
        dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, args=(2,), nprocs=2, join=True)
square = torch.eye(3)
left_vectors, singular, right_vectors = torch.linalg.svd(square, full_matrices=False)
solution = torch.linalg.lstsq(square, torch.ones(3, 1)).solution
factors, pivots = torch.linalg.lu_factor(square)
torch.linalg.solve_triangular(square, torch.ones(3, 1), upper=False).norm()
torch.linalg.vector_norm(square, ord=float("inf"), dim=(0, 1)) + torch.linalg.matrix_norm(square, "nuc")
torch.linalg.eigh(square).eigenvalues.sum() + torch.linalg.slogdet(square)[1] + torch.linalg.cond(square, 2)
torch.linalg.multi_dot([square, square, torch.linalg.inv(square)]) @ torch.linalg.pinv(square, rtol=1e-3)
(
    torch.fft.irfft(torch.fft.rfft(square, n=4, norm="ortho"), n=3).abs()
    + torch.fft.fftn(square, s=(3, 3), dim=(0, 1)).real
)
torch.fft.fftshift(torch.fft.fftfreq(8, d=0.5), dim=0)
