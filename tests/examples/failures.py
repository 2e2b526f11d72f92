"""Small programs that fail, each with words that Rushlight adds to torch's: the fact or the way out."""

import types

CASES = {
    "numpy of a tensor that requires grad": (
        "torch.ones(3, requires_grad=True).numpy()",
        "tensor.detach().numpy()",
    ),
    "numpy of a result": (
        "(torch.ones(3, requires_grad=True) * 2).numpy()",
        "tensor.detach().numpy()",
    ),
    "backward of a non-scalar": (
        "(torch.ones(2, 3, requires_grad=True) * 2).backward()",
        "shape [2, 3]",
    ),
    "backward of a non-scalar over samples": (
        "W = torch.randn(1, requires_grad=True)\noptimizer = torch.optim.Adam([W])\nx = torch.randn(4)\n"
        "optimizer.zero_grad()\n((W * x) ** 2).backward()",
        ".mean() or .sum()",
    ),
    "backward without grad": (
        "torch.ones(2).sum().backward()",
        "torch.no_grad()",
    ),
    "in-place on a leaf": (
        "w = torch.ones(3, requires_grad=True)\nw -= 0.1",
        "with torch.no_grad(): w -= lr * w.grad",
    ),
    "in-place on a leaf by method": (
        "torch.ones(3, requires_grad=True).zero_()",
        "with torch.no_grad()",
    ),
    "in-place on a view of a leaf": (
        "w = torch.ones(3, requires_grad=True)\nw[0] = 2.0",
        "a view of a leaf Variable that requires grad is being used in an in-place operation",
    ),
    "zero_ of no gradient": (
        "torch.ones(3, requires_grad=True).grad.zero_()",
        "'NoneType' object has no attribute 'zero_'",
    ),
    "data of no gradient": (
        "torch.ones(3, requires_grad=True).grad.data.zero_()",
        "'NoneType' object has no attribute 'data'",
    ),
    "backward twice": (
        "x = torch.ones(3, requires_grad=True)\ny = (x.exp() * x).sum()\ny.backward()\ny.backward()",
        "MulBackward0",
    ),
    "grad after backward": (
        "x = torch.ones(3, requires_grad=True)\ny = (x.exp() * x).sum()\ny.backward()\ntorch.autograd.grad(y, x)",
        "<failure>:3",
    ),
    "saved value overwritten": (
        "x = torch.ones(3, requires_grad=True)\ny = x.exp()\ny.detach().zero_()\ny.sum().backward()",
        "changed by <failure>:3",
    ),
    "gradient of the wrong shape": (
        "(torch.ones(3, requires_grad=True) * 2).backward(gradient=torch.ones(2))",
        "torch.Size([2])",
    ),
    "unknown argument of backward": (
        "torch.ones(1, requires_grad=True).backward(retain_graphs=True)",
        "retain_graphs",
    ),
    "item of a 0-dim tensor": (
        "loss = torch.ones(3).mean()\nprint(loss.data[0])",
        "Use `tensor.item()`",
    ),
    "integers that require grad": (
        "torch.LongTensor([1]).requires_grad_()",
        "floating point",
    ),
    "requires_grad of a result": (
        "y = torch.ones(1, requires_grad=True) * 2\ny.requires_grad = False",
        "detach()",
    ),
    "old constructor of another type": (
        "torch.FloatTensor(torch.arange(3))",
        "tensor.to(torch.float32)",
    ),
    "old constructor of a number": ("torch.FloatTensor(3.5)", "data must be a sequence (got float)"),
    "old constructor of text": ("torch.LongTensor('a')", "'str'"),
    "old constructor, ragged": ("torch.FloatTensor([[1, 2], [3]])", "length 2"),
    "old constructor, negative size": ("torch.FloatTensor(2, -1)", "[2, -1]"),
    "CUDA constructor": ("torch.cuda.FloatTensor([1, 2])", "there is no CUDA device here. Use torch.FloatTensor"),
    "CUDA constructor of a size": ("torch.cuda.LongTensor(2)", "torch.cuda.is_available()"),
    "tensor to CUDA": ("torch.ones(2).cuda()", "device='cpu'"),
    "tensor to the device": ("torch.ones(2).to(torch.device('cuda:0'))", "'cuda:0'"),
    "tensor made on CUDA": ("torch.zeros(2, device='cuda')", "no CUDA device is available"),
    "module to CUDA": ("torch.nn.Linear(2, 2).cuda()", "torch.cuda.is_available()"),
    "name of a CUDA device": ("torch.cuda.get_device_name(0)", "torch.cuda.get_device_name()"),
    "waiting for CUDA": ("torch.cuda.synchronize()", "torch.cuda.is_available()"),
    "no such device": ("torch.device('gpu')", "gpu"),
    "no such type": ("torch.ones(2).type('torch.WordTensor')", "torch.WordTensor"),
    "type that is no type": ("torch.ones(2).type(3)", "dtype"),
}


def fail(torch, code):
    """[the exception's type, its text] of a program, or None where it ends well."""
    scope = types.ModuleType("failure").__dict__ | {"torch": torch}
    try:
        exec(compile(code, "<failure>", "exec"), scope)
    except Exception as error:
        return [type(error).__name__, str(error)]
    return None
