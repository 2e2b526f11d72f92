"""Uses of the transforms, as functions of the module that is called torch: under Rushlight, and to record torch's results."""


def data(torch, *shape, start=0.0):
    """Numbers that look random, the same everywhere."""
    n = 1
    for k in shape:
        n *= k
    return (torch.arange(n, dtype=torch.float32) * 1.7 + start).sin().reshape(shape)


def nested(torch, f):
    x, y = data(torch, 5, 3), data(torch, 5, 3, start=1.0)
    return f.vmap(f.vmap(lambda a, b: a * b, (None, 0)), (0, None))(x, y)


def closed_over(torch, f):
    x, y = data(torch, 5, 3), data(torch, 5, 3, start=1.0)
    return f.vmap(lambda a: f.vmap(lambda b: (a * b).sum())(y))(x)


def dims(torch, f):
    x, w = data(torch, 5, 3), data(torch, 3, 4, start=2.0)
    last = f.vmap(lambda a: a @ w, out_dims=-1)(x)
    inside = f.vmap(lambda d: d["a"] @ d["b"], in_dims=({"a": 0, "b": None},))({"a": x, "b": w})
    return [last, inside, *f.vmap(lambda a: (a.sum(), a), in_dims=1, out_dims=(0, 1))(x)]


def chunks(torch, f):
    return f.vmap(lambda a: a.sort()[0], chunk_size=2)(data(torch, 5, 3))


def keywords_are_not_mapped(torch, f):
    return f.vmap(lambda a, b=None: a + b)(data(torch, 5, 3), b=data(torch, 5, 3, start=1.0))


def no_examples(torch, f):
    w = data(torch, 3, 4)
    return f.vmap(lambda a: (a.sum(), a @ w, a.sort()[0]))(torch.zeros(0, 3))


def jacobians(torch, f):
    x, w = data(torch, 5, 3), data(torch, 3, 4, start=2.0)
    map_ = lambda a: (a @ w).tanh()  # noqa: E731
    return [f.jacrev(map_)(x), f.jacfwd(map_)(x), f.jacrev(map_, chunk_size=3)(x), f.vmap(f.jacfwd(map_))(x)]


def hessians(torch, f):
    x, w = data(torch, 5, 3), data(torch, 3, 4, start=2.0)
    energy = lambda a: (a @ w).tanh().pow(2).sum()  # noqa: E731
    return [f.hessian(energy)(x[0]), f.vmap(f.hessian(energy))(x), f.vmap(f.grad(lambda a: f.grad(energy)(a).sum()))(x)]


def products(torch, f):
    x, v, w = data(torch, 5, 3), data(torch, 5, 3, start=1.0), data(torch, 3, 4, start=2.0)
    push = f.vmap(lambda a, t: f.jvp(lambda q: (q @ w).sin(), (a,), (t,))[1])(x, v)
    _, pull = f.vjp(lambda a: (a @ w).sin(), x[0])
    return [push, *f.vmap(pull)(torch.eye(4))]


def convolution_per_sample(torch, f):
    nn = torch.nn
    net = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5))
    parameters = {k: data(torch, *p.shape, start=p.dim()) * 0.3 for k, p in net.named_parameters()}

    def loss(p, x, y):
        return nn.functional.cross_entropy(f.functional_call(net, p, (x[None],)), y[None])

    found = f.vmap(f.grad(loss), in_dims=(None, 0, 0))(parameters, data(torch, 6, 1, 6, 6), torch.arange(6) % 5)
    return list(found.values())


def ensemble(torch, f):
    nn = torch.nn
    nets = [nn.Sequential(nn.Linear(3, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2)) for _ in range(3)]
    shapes = {k: p.shape for k, p in nets[0].named_parameters()}
    parameters = {k: data(torch, 3, *s, start=len(k)).requires_grad_() for k, s in shapes.items()}
    out = f.vmap(lambda p, x: f.functional_call(nets[0], p, (x,)), in_dims=(0, None))(parameters, data(torch, 5, 3))
    out.pow(2).sum().backward()
    return [out, *[p.grad for p in parameters.values()]]


def attention_per_sample(torch, f):
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    parameters = {k: data(torch, *p.shape, start=len(k)) for k, p in layer.named_parameters()}
    loss = lambda p, x: f.functional_call(layer, p, (x[None],)).pow(3).sum()  # noqa: E731
    return list(f.vmap(f.grad(loss), in_dims=(None, 0))(parameters, data(torch, 4, 5, 8)).values())


def writes(torch, f):
    def change(v):
        v = v.clone()
        v[0] = v[1] * 2
        v[1:] += 1
        return v.mul_(2)

    x = data(torch, 5, 3)
    f.vmap(lambda v: v.add_(1))(x)
    return [f.vmap(change)(x), x]


def indices(torch, f):
    x, w, i = data(torch, 5, 3), data(torch, 3, 4), torch.arange(10).reshape(5, 2) % 3
    own = f.vmap(lambda v, k: (v[k], v[:2], v[..., None], v[k, None], torch.gather(v, 0, k)))(x, i)
    return [*own, f.vmap(lambda k: w[k])(i), f.vmap(lambda k: w[:, k])(i)]


def types(torch, f):
    a, b = torch.ones(3, dtype=torch.float64), torch.ones(3, 2)
    c, d = torch.ones(3, dtype=torch.int64), torch.ones(3, 2, dtype=torch.int32)
    return [f.vmap(torch.add)(a, b), f.vmap(torch.mul)(c, d), f.vmap(lambda t: t / 2)(c), f.vmap(torch.mul)(a, c)]


def own_functions(torch, f):
    class Cube(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, g):
            return g * 3 * ctx.saved_tensors[0] ** 2

    class Shifted(torch.autograd.Function):
        @staticmethod
        def forward(x, k):
            return x * k

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.k = inputs[1]

        @staticmethod
        def backward(ctx, g):
            return g * ctx.k, None

        @staticmethod
        def vmap(info, in_dims, x, k):
            return Shifted.apply(x, k) + info.batch_size, in_dims[0]

    x = data(torch, 5, 3)
    cubes = [f.vmap(Cube.apply)(x), f.vmap(f.grad(lambda a: Cube.apply(a).sum()))(x)]
    return [*cubes, f.vmap(lambda a: Shifted.apply(a, 2.0), in_dims=1)(x)]


def many_gradients(torch, f):
    x, w = data(torch, 5, 3).requires_grad_(), data(torch, 3, 4)
    rows = torch.autograd.grad((x @ w).sin(), x, data(torch, 7, 5, 4), is_grads_batched=True)
    return [*rows, torch.autograd.functional.jacobian(lambda a: (a @ w).sin(), x, vectorize=True)]


def draws(torch, f):
    functional, x = torch.nn.functional, torch.ones(8, 5)
    calls = [
        lambda a: functional.dropout(a, 0.5),
        lambda a: a * torch.rand(5),
        lambda a: a * torch.randn(40).sum(),
        torch.randn_like,
        lambda a: a.clone().normal_(),
        lambda a: a + torch.randint(0, 10, (5,)),
        lambda a: a + torch.randperm(5),
        lambda a: functional.alpha_dropout(a, 0.5, True),
    ]
    found = []
    for call in calls:
        for mode in ("different", "same"):
            torch.manual_seed(1)
            found.append(f.vmap(call, randomness=mode)(x))
    torch.manual_seed(1)
    return [*found, f.vmap(torch.bernoulli, randomness="different")(x / 2)]


def numbers_as_indices(torch, f):
    x, k = data(torch, 5, 3, 4), torch.tensor([0, 1, 2, 0, -1])

    def put(a, i):
        a = a.clone()
        a[i, 1] = a[0, i]
        return a

    reads = [
        lambda a, i: a[i], lambda a, i: a[:, i], lambda a, i: a[i, i], lambda a, i: a[i, 1:3], lambda a, i: a[i, None],
        lambda a, i: a[[0, 1], i], put,
    ]  # fmt: skip
    w = x.clone().requires_grad_()
    f.vmap(lambda a, i: a[i, 0] ** 2)(w, k).sum().backward()
    return [*(f.vmap(read)(x, k) for read in reads), f.vmap(lambda i: x[1:, i])(k), w.grad]


CASES = [
    nested, closed_over, dims, chunks, keywords_are_not_mapped, no_examples, jacobians, hessians, products,
    convolution_per_sample, ensemble, attention_per_sample, writes, indices, numbers_as_indices, types, own_functions, many_gradients, draws,
]  # fmt: skip


def described(torch, result):
    """[shape, dtype, sum, sum of squares, sum weighted by place] of each tensor."""
    rows = []
    for t in result if isinstance(result, (list, tuple)) else [result]:
        v = t.detach().double().reshape(-1)
        places = torch.arange(v.numel(), dtype=torch.float64).cos()
        sums = [round(s.sum().item(), 4) for s in (v, v * v, v * places)]
        rows.append([list(t.shape), str(t.dtype), *sums])
    return rows


def record():
    """Run with torch installed: print the results that `recorded.json` keeps."""
    import json

    import torch

    table = {case.__name__: described(torch, case(torch, torch.func)) for case in CASES}
    print("{\n" + ",\n".join(f'"{k}": {json.dumps(v)}' for k, v in table.items()) + "\n}")


if __name__ == "__main__":
    record()
