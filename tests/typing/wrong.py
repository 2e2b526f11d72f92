"""Lines with a mistake each, which a type checker has to report (`test_stubs.py`). Nothing runs this."""

import rushlight as torch
import rushlight.nn as nn
import rushlight.nn.functional as F
from rushlight.utils.data import DataLoader

x = torch.zeros(2, 3)
model = nn.Linear(3, 4)
torch.zeros("a")  # wrong
torch.ones(2, 3, dtyp=torch.float32)  # wrong
torch.arange("a")  # wrong
torch.rnadn(2, 3)  # wrong
torch.cat(x, dims=0)  # wrong
torch.cat(x)  # wrong
torch.stack([x, x], dim="0")  # wrong
torch.float23  # wrong
torch.full((2, 2))  # wrong
torch.matmul(x)  # wrong
torch.nn.functionl  # wrong
x.backwrd()  # wrong
x.view("a")  # wrong
x.reshape(2, "3")  # wrong
x.sum(dimension=0)  # wrong
x.max(dim="a")  # wrong
x.size("0")  # wrong
x.to(dtyp=torch.float64)  # wrong
x.add()  # wrong
x.shape = (3, 2)  # wrong
x.requires_grad_("a", "b")  # wrong
x + "a"  # wrong
x.item(0, 1)  # wrong
x.numel() + "a"  # wrong
F.relu(x, inplce=True)  # wrong
F.cross_entropy(x)  # wrong
F.sofmax(x)  # wrong
F.dropout(x, p="half")  # wrong
F.conv2d(x)  # wrong
nn.Linear(3)  # wrong
nn.Linear("3", 4)  # wrong
nn.Conv2d(3, 4)  # wrong
nn.Sequental(model)  # wrong
torch.optim.SGD(lr=0.1)  # wrong
torch.optim.Adam(model.parameters(), learning_rate=0.1)  # wrong
torch.optim.Sgd(model.parameters())  # wrong
DataLoader(batch_size=4)  # wrong
model.load_state_dict()  # wrong
values, places, more = x.topk(1)  # wrong
torch.manual_seed("a")  # wrong
torch.einsum(x, x)  # wrong
nn.Sequential(3)  # wrong
nn.LSTM(3, 4, batchfirst=True)  # wrong
nn.GRU(3)  # wrong
x.softmax()  # wrong
x.unsqueeze()  # wrong
x.cumsum(dtype=torch.float64)  # wrong
nn.init.xavier_uniform()  # wrong
torch.optim.SGD(model.parameters(), lr=0.1).step(lr=0.1)  # wrong
model.to(devise="cpu")  # wrong
torch.device()  # wrong
torch.autograd.backwards(x)  # wrong
torch.cuda.is_availble()  # wrong
torch.jit.scripts(model)  # wrong
x.dtype.is_float  # wrong
torch.utils.dat  # wrong
torch.distributed.get_ranks()  # wrong
torch.linalg.norm(x, order=2)  # wrong
torch.linalg.solve(x)  # wrong
torch.linalg.svd(x, full=False)  # wrong
torch.linalg.eigh(x).values  # wrong
torch.fft.fft(x, dim="a")  # wrong
torch.fft.fft(x, axis=0)  # wrong
