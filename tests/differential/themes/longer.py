"""Longer stories: runs that are interrupted and resumed, schedules in schedules, odd options, transforms of modules, printed forms."""

THEMES = {
    "resumed", "schedules", "odd_options", "module_transforms", "conjugates", "results_into", "printed", "more_distributions",
    "more_loaders", "pruned", "classes_of_tensors",
}  # fmt: skip

_NETS = [
    "nn.Sequential(nn.Linear(3, 4), nn.{Tanh|ReLU|GELU|Dropout(0.3)}{|()}, nn.Linear(4, 2))",
    "nn.Sequential(nn.Linear(3, 4, bias=False), nn.BatchNorm1d(4, momentum={0.1|0.5}), nn.Linear(4, 2))",
    "nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.PReLU(), nn.Linear(4, 2))",
    "nn.Sequential(nn.Linear(3, 6, bias=False), nn.GroupNorm(2, 6), nn.Linear(6, 2, bias=False))",
    "nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(3, 4)), nn.Linear(4, 2))",
]
_OPTIMIZERS = [
    "SGD({q}, lr=0.1, momentum={0|0.9}, nesterov=False, weight_decay={0|0.1}, maximize={bool}, foreach={None|True|False})",
    "SGD({q}, lr=0.1, momentum=0.9, dampening={0|0.5}, weight_decay=0.01)",
    "Adam({q}, lr={0.1|torch.tensor(0.1)}, betas=({0.9|0.5}, 0.99), amsgrad={bool}, weight_decay={0|0.1}, decoupled_weight_decay={bool})",
    "AdamW({q}, lr=0.05, amsgrad={bool}, maximize={bool}, foreach={None|False})",
    "RMSprop({q}, lr=0.01, centered={bool}, momentum={0|0.5}, weight_decay={0|0.1})",
    "Adagrad({q}, lr=0.1, lr_decay={0|0.1}, initial_accumulator_value={0|0.5})",
    "Adadelta({q}, rho={0.9|0.5}, maximize={bool})",
    "NAdam({q}, lr=0.01, momentum_decay={0.004|0.1}, decoupled_weight_decay={bool})",
    "RAdam({q}, lr=0.05, weight_decay={0|0.1})",
    "Adamax({q}, lr=0.05)",
    "ASGD({q}, lr=0.05, lambd=0.01, t0={1|1e6})",
    "Rprop({q}, lr=0.05, etas=(0.4, 1.3), step_sizes=(1e-6, 1))",
    "Adafactor({q}, lr=0.05)",
]


def _net(p, name="net"):
    return p.do(f"{name} = " + p.choice(*_NETS).replace("{|()}", p.choice("", "()")).replace("(0.3)()", "(0.3)"))


def _train(p, net="net", opt="opt", steps=2):
    lines = [
        f"for _ in range({steps}):",
        f"    {opt}.zero_grad({{|set_to_none=False}})",
        f"    loss = ({net}(x) - y).{{pow(2)|abs()}}.mean()",
        "    loss.backward()",
        f"    {opt}.step()",
    ]
    p.do("\n".join(lines))
    p.do("loss")


def resumed(p):
    """A run that is saved in the middle; another model goes on from the file."""
    if not _net(p):
        return
    p.do("net.double()")  # Adam and Rprop magnify the rounding of gradients that are nearly zero
    p.do("x, y = torch.randn({2|5}, 3).double(), torch.randn(1).double()")
    # before batch norm, gradients may cancel to rounding, which Adafactor divides by its eps
    steady = [o for o in _OPTIMIZERS if "BatchNorm" not in p.statements[0] or not o.startswith("Adafactor")]
    if not p.do("opt = torch.optim." + p.choice(*steady).replace("{q}", "net.parameters()")):
        return
    scheduled = p.chance(0.6)
    if scheduled:
        p.do(
            "sched = torch.optim.lr_scheduler.{StepLR(opt, 1, 0.5)|CosineAnnealingLR(opt, 5)|LambdaLR(opt, lambda e: 0.9**e)|OneCycleLR(opt, 0.1, total_steps=9)|ReduceLROnPlateau(opt)}"
        )
    _train(p)
    state = "⟨'net': net.state_dict(), 'opt': opt.state_dict(), 'rng': torch.get_rng_state()" + (
        ", 'sched': sched.state_dict()⟩" if scheduled and "Lambda" not in p.statements[4] else "⟩"
    )
    if not p.do(f"save({state}, 'c.pt')"):
        return
    p.do("load('c.pt', weights_only={bool}).keys()")
    p.do("c = load('c.pt', weights_only=False)")
    p.do("torch.rand(2)")
    p.do("import copy")
    p.do("other = copy.deepcopy(net)")
    p.do("for q in other.parameters(): nn.init.{zeros_|ones_|normal_}(q{|.data})")
    p.do("other.load_state_dict(c['net'], strict={bool}, assign={bool})")
    p.do("again = type(opt)(other.parameters(), lr=1.0)")
    p.do("again.load_state_dict(c['opt'])")
    p.do("torch.set_rng_state(c['rng'])")
    _train(p, "other", "again")
    p.do("[q for q in other.parameters()]")
    p.do("again.state_dict()")
    p.do("torch.rand(2)")
    p.do("other.load_state_dict(⟨'foo': torch.ones(1)⟩{|, strict=False})")
    p.do("[k for k, _ in other.named_buffers()]")


_SIMPLE = [
    "S.StepLR(o, {1|2}, {0.5|0.1})", "S.ExponentialLR(o, 0.9)", "S.ConstantLR(o, {0.5|0.1}, {2|3})", "S.LinearLR(o, {0.1|0.5}, 1.0, {2|4})",
    "S.CosineAnnealingLR(o, {3|5}, {0|0.01})", "S.PolynomialLR(o, {3|5}, {1|2})", "S.MultiStepLR(o, [1, {3|4}], 0.5)",
    "S.CosineAnnealingWarmRestarts(o, {1|2}, {1|2})", "S.LambdaLR(o, [lambda e: 0.9**e])", "S.MultiplicativeLR(o, lambda e: 0.95)",
]  # fmt: skip


def schedules(p):
    """Schedules within schedules, more than one at a time, restored ones."""
    p.do("S = torch.optim.lr_scheduler")
    p.do("w = nn.Parameter(torch.ones(2))")
    p.do(
        "o = torch.optim.{SGD([w], lr={1.0|0.1|torch.tensor(0.5)})|AdamW([w], lr=0.1)|SGD([⟨'params': [w], 'initial_lr': 0.3⟩], lr=0.2)}"
    )
    a, b, c = (p.choice(*_SIMPLE) for _ in range(3))
    made = p.do(
        p.choice(
            f"s = S.SequentialLR(o, [{a}, {b}], milestones=[{{1|2|4}}])",
            f"s = S.SequentialLR(o, [{a}, {b}, {c}], milestones=[2, {{3|4}}])",
            f"s = S.ChainedScheduler([{a}, {b}]{{|, optimizer=o}})",
            f"s = S.SequentialLR(o, [{a}, S.ChainedScheduler([{b}, {c}])], [3])",
            f"s = {a}",
            f"s = S.SequentialLR(o, [{a}], [{{1|2}}])",
            "s = torch.optim.swa_utils.SWALR(o, swa_lr=0.05, anneal_epochs={2|3}, anneal_strategy='{cos|linear}')",
            "s = S.CyclicLR(o, [0.01], 0.1, 2, {2|3}, 'triangular', cycle_momentum=False)",
            "s = S.StepLR(o, 2, last_epoch={-1|3})",
        )
    )
    if not made:
        return
    for i in range(8):
        if p.chance(0.85):
            p.do("o.step()")
        p.do("s.step()")
        p.do("[float(g['lr']) for g in o.param_groups]")
        if i in (2, 5):
            p.do(
                p.choice(
                    "s.get_last_lr()",
                    "sorted(k for k in s.state_dict() if k not in ('optimizer',))",
                    "s.load_state_dict(s.state_dict())",
                    "o.param_groups[0]['lr'] = 0.7",
                    "s.step({1|2})",
                    "s.last_epoch",
                    "repr(o)",
                    "o.param_groups[0]['initial_lr']",
                    f"s = {b}",
                    "o.add_param_group(⟨'params': [nn.Parameter(torch.ones(1))], 'lr': 0.4⟩)",
                )
            )


def odd_options(p):
    """Optimizers with several groups, hooks, options that change, gradients that are missing or not finite."""
    p.do(
        "ps = [nn.Parameter(torch.tensor([1., -2.])), nn.Parameter(torch.ones(2, 2)), nn.Parameter(torch.tensor(0.5))]"
    )
    text = p.choice(*_OPTIMIZERS)
    groups = p.choice(
        "ps",
        "[⟨'params': ps[:2]⟩, ⟨'params': ps[2:], 'lr': 0.01⟩]",
        "[⟨'params': ps[0], 'weight_decay': 0.2⟩, ⟨'params': ps[1:], 'lr': 0.02, 'maximize': True⟩]",
        "[('a', ps[0]), ('b', ps[1]), ('c', ps[2])]",
        "iter(ps)",
        "[⟨'params': [('a', ps[0])]⟩, ⟨'params': [('b', ps[1])], 'lr': 0.5⟩]",
        "[ps[0], ps[0]]",
        "⟨'params': ps⟩",
    )
    if not p.do("opt = torch.optim." + text.replace("{q}", groups)):
        return
    for _ in range(6):
        p.do(
            p.choice(
                "for i, q in enumerate(ps): q.grad = torch.full_like(q, i - 0.5)",
                "for q in ps: q.grad = torch.{randn_like|zeros_like}(q)",
                "ps[{0|1|2}].grad = None",
                "ps[0].grad = torch.tensor([{float('nan')|float('inf')|1e30|1e-30}, 1.])",
                "(ps[0].sum() * ps[1].sum() + ps[2]).backward()",
                "for q in ps: q.grad = None",
                "opt.param_groups[-1]['lr'] = {0.3|0.0|torch.tensor(0.2)}",
                "opt.param_groups[0]['weight_decay'] = 0.5",
                "h = opt.register_step_pre_hook(lambda o, a, k: None)",
                "opt.load_state_dict(opt.state_dict())",
                "opt.param_groups[0]['params'][0].data = torch.tensor([3., 4.])",
                "ps[2].requires_grad_({bool})",
            )
        )
        p.do("opt.step({|lambda: torch.tensor(1.5)|lambda: None})")
        p.do("[q.detach().clone() for q in ps]")
    p.do("opt.state_dict()")
    p.do("repr(opt)")
    p.do("opt.zero_grad()")
    p.do("[q.grad for q in ps]")


def module_transforms(p):
    """torch.func over modules and over functions with auxiliary results, several arguments, structures."""
    p.do("from torch.func import *")
    if not _net(p):
        return
    p.do("params = ⟨k: v.detach() for k, v in net.named_parameters()⟩")
    p.do("buffers = dict(net.named_buffers())")
    p.do("net.{eval()|train()}")
    p.do("x, y = torch.randn(4, 3), torch.randn(4, 2)")
    p.do(
        "def loss(params, x, y): return F.{mse_loss|l1_loss|smooth_l1_loss}(functional_call(net, (params, buffers), (x,)), y)"
    )
    p.do("def one(params, x, y): return loss(params, x[None], y[None])")
    for _ in range(6):
        p.do(
            p.choice(
                "grad(loss)(params, x, y)",
                "grad_and_value(loss)(params, x, y)",
                "vmap(grad(one), in_dims=(None, 0, 0))(params, x, y)",
                "vmap(one, in_dims=(None, 0, 0), chunk_size={1|2|3})(params, x, y)",
                "vmap(one, (None, 0, None))(params, x, y[0])",
                "jacrev(loss, argnums={0|1|(1, 2)})(params, x, y)",
                "jacfwd(loss, argnums={1|2|(1, 2)})(params, x, y)",
                "hessian(loss, argnums=2)(params, x, y)",
                "jvp(lambda v: loss(params, v, y), (x,), (torch.ones_like(x),))",
                "vjp(lambda a, b: a * b.sum(), x, y)[1](torch.ones_like(x))",
                "grad(lambda a: (a.sin().sum(), a.cos()), has_aux=True)(x)",
                "jacrev(lambda a: (a[0] * 2, a[1]), has_aux=True)(x)",
                "vmap(lambda d: d['a'] + d['b'][0])(⟨'a': x, 'b': (y[:, 0],)⟩)",
                "vmap(lambda a: (a, ⟨'s': a.sum()⟩))(x)",
                "vmap(lambda a: torch.rand(2), randomness='{error|different|same}')(x)",
                "vmap(vmap(lambda a, b: a * b), (0, None))(x, torch.arange(3.))",
                "vmap(torch.dot, ({0|1}, {0|1}))(x, x)",
                "vmap(lambda a: a.sum(), in_dims={0|1|-1|2|None}, out_dims={0|1})(x)",
                "linearize(lambda a: a.sin() * a, x)[1](x)",
                "functionalize(lambda a: a.clone().add_(1))(x)",
                "functional_call(net, params, x, tie_weights={bool}, strict=True)",
                "functional_call(net, ⟨'foo': x⟩, x, strict={bool})",
                "jacrev(jacfwd(lambda a: (a ** 3).sum()))(x[0])",
                "vmap(lambda a: a[a > 0])(x)",
                "vmap(lambda a: a.item())(x)",
                "vmap(lambda a: F.dropout(a), randomness='different')(x)",
                "vmap(lambda a: torch.where(a > 0, a, 0.).cumsum(0))(x)",
                "vmap(jacrev(torch.tanh))(x)",
            )
        )
    p.do("nets = [" + ", ".join(["nn.Linear(3, 2)"] * 3) + "]")
    p.do("stacked, rest = stack_module_state(nets)")
    p.do("vmap(lambda q, v: functional_call(nets[0], (q, rest), (v,)), (0, None))(stacked, x)")


def conjugates(p):
    """Views that conjugate and negate, and what is written through them."""
    p.do("x = torch.complex(torch.randint(-3, 4, {(3,)|(2, 3)|(2, 2)|()}).float(), torch.randn(1))")
    if p.chance(0.4):
        p.do("leaf = x.requires_grad_()")
        p.do("x = leaf * 1")
    p.do("y = x.{conj()|mH|T.conj()|conj().conj()|conj().view_as(x)|imag._neg_view()|conj().imag|_neg_view()|conj()}")
    for _ in range(7):
        t = p.choice("x", "y", "y")
        p.do(
            p.choice(
                f"{t}.{{add_|mul_|sub_|div_}}({{2|0.5|1j|-1}})",
                f"{t}.{{exp_|sin_|neg_|zero_|conj_physical_|square_}}()",
                f"{t}[..., 0] = {{2|1j|0.5}}",
                f"{t}.copy_({{x|y|x.conj()}})",
                f"{t}.is_conj(), {t}.is_neg(), {t}._is_view(), {t}.stride()",
                f"{t}.{{real|imag}}",
                f"{t}.{{real|imag}}.{{mul_(2)|fill_(3)|zero_()}}",
                f"{t}.{{abs|angle|sum|mean|clone|resolve_conj|resolve_neg|contiguous|t|flatten|sgn|exp|isnan|item|tolist|conj_physical}}()",
                f"{t} * {{x|y|2|1j}}",
                f"{t} @ {{x.mT|y.mH|x}}",
                f"torch.{{cat|stack}}([{t}, {t}])",
                f"y = {t}.{{conj()|_neg_view()|T|view(-1)|unsqueeze(0)|detach()|mH}}",
                f"torch.view_as_real({t})",
                f"repr({t})",
                f"{t}.view(torch.float32)",
                f"{t}.masked_fill_(torch.rand(1) > 0.5, 0)",
                f"{t}.numpy()",
                f"torch.add(x, 1, out={t})",
                f"{t}.to(torch.complex128)",
                f"{t} == x",
                f"{t}.unbind(-1)",
                f"{t}.index_select(0, torch.tensor([0]))",
                f"torch.vdot({t}.flatten(), x.flatten())",
                f"torch.linalg.norm({t})",
                f"{t}.abs().sum().backward(retain_graph=True)",
                f"{t}.grad_fn.name() if {t}.grad_fn else None",
            )
        )  # fmt: skip
        p.do("x")
        p.do("y")
    if "leaf" in p.session.space:
        p.do("(x.abs().sum() + y.abs().sum()).backward()")
        p.do("leaf.grad")


def results_into(p):
    """out= of every kind of operator, into views, expanded, overlapping and mistyped tensors."""
    p.do("a = torch.randn(2, 3); b = torch.randn(2, 3); i = torch.randint(0, 5, (2, 3)); m = a > 0")
    for _ in range(10):
        p.do(p.choice("o = torch.zeros(2, 3)", "o = torch.zeros(3, 2).t()", "o = torch.zeros(4, 6)[::2, ::2]", "o = torch.empty(0)", "o = torch.zeros(2, 3, dtype={dtype})", "o = torch.zeros(6)", "o = torch.zeros(1).expand(2, 3)", "o = torch.zeros(2)", "o = (torch.zeros(2), torch.zeros(2, dtype=torch.long))", "o = torch.zeros(2, 3, requires_grad=True)"))  # fmt: skip
        p.do(
            "r = torch.{add(a, b{|, alpha=2}|mul(a, 2.0|sub(a, b|div(a, b{|, rounding_mode='floor'}|pow(a.abs(), 2|exp(a|neg(a|abs(a|floor(a|sign(a|sqrt(a.abs()|sigmoid(a|tanh(a|clamp(a, -1, 1|maximum(a, b|where(m, a, b|eq(a, b|gt(a, 0|logical_and(m, m|bitwise_and(i, i|isnan(a"
            "|sum(a, 1|sum(a, {0|1}, keepdim=True|mean(a, 0|prod(a, 1|std(a, 1|var(a, 0|amax(a, 1|amin(a, 0|argmax(a, 1|argmin(a, 0|max(a, 1|min(a, 0|median(a, 1|mode(a, 1|sort(a, 1|topk(a, 2|kthvalue(a, 1|cummax(a, 0|all(m, 1|any(m, 0|logsumexp(a, 1|norm(a, 2, 1|cumsum(a, 1|cumprod(a, 0|nansum(a, 1|count_nonzero(a"
            "|matmul(a, b.t()|mm(a, b.t()|mv(a, b[0]|dot(a[0], b[0]|addmm(a, torch.ones(2, 2), b|bmm(a[None], b.t()[None]|outer(a[0], b[0]|inner(a, b|cat([a, b]|cat([a, b], 1|stack([a, b]|gather(a, 1, i.clamp(0, 2)|take(a, i|index_select(a, 1, torch.tensor([0, 0])|masked_select(a, m|nonzero(m|tril(a|triu(a|diag(a[0]|scatter(a, 1, i.clamp(0, 2), b"
            "|arange(6|linspace(0, 1, 6|zeros(2, 3|ones(2, 3|full((2, 3), 7.0|eye(2, 3|rand(2, 3|randn(2, 3|randint(5, (2, 3)|randperm(6|empty(2, 3|complex(a, b|polar(a.abs(), b|real(a|bucketize(a, b[0].sort()[0]|searchsorted(b[0].sort()[0], a|lerp(a, b, 0.5|addcmul(a, a, b|addcdiv(a, a, b|atan2(a, b|hypot(a, b|fmod(a, b|remainder(a, 2|quantile(a, 0.5, 1|nan_to_num(a|round(a|frac(a|sgn(a|signbit(a|isposinf(a|histc(a|cross(a, b, 1|renorm(a, 2, 0, 1.0|dist(a, b|tensordot(a, b.t(), 1|cdist(a, b|roll(a, 1|flip(a, (0,)}, out=o)"
        )
        p.do("o")
        p.do("r is o")


def printed(p):
    """Printed forms of what a program has at hand."""
    for _ in range(4):
        p.do(
            "torch.set_printoptions({precision=2|sci_mode=True|sci_mode=False|threshold=5, edgeitems=1|linewidth=40|profile='full'|profile='default'|profile='short'|precision=8})"
        )
        for _ in range(3):
            p.do(
                p.choice(
                    "repr(torch.tensor({1e10|[1e-5, 1]|[1e5, 1e-5]|[float('nan'), 1e8]|[float('inf'), -1]|[[1.5, 2], [100, -0.25]]|[True, False]|[]|[[]]|[1 + 2j, 1e5j]|[1e-40]|[-0.0, 0.1]|12345678|[2**40, -1]|1e300|[0.1, 0.12345678]}{|, dtype=torch.float64|, dtype=torch.float16|, dtype=torch.bfloat16|, requires_grad=True}))",
                    "repr(torch.arange({12|1001|7}).reshape({-1|(1, -1)}))",
                    "repr(torch.randn({3, 4|20, 2|2, 2, 2|1100|2, 0, 3|30, 30}))",
                    "str(torch.randn(3){ * 1e6| * 1e-6|.to({dtype})|.requires_grad_() * 2})",
                    "f'{x}'",
                    "'{|:.2f|:5|:.3e|:d}'.replace('⟨', '').join(['a'])",
                    "'⟨{:.3f|:.2e|:6.1f|}⟩'.format({torch.tensor(3.14159)|torch.tensor(2)|torch.tensor([1.])})",
                    "repr(torch.optim.{SGD([torch.ones(1)], lr=0.1, momentum=0.9)|Adam([torch.ones(1)])|Adafactor([torch.ones(1)])})",
                    "repr(torch.Size([2, 3])), str(torch.{float32|int64|strided|device('cpu')|float8_e5m2})",
                    "repr(nn.{Linear(2, 3, bias=False)|Conv2d(1, 2, (3, 1), padding='same', padding_mode='reflect')|LSTM(2, 3, 2, dropout=0.1, bidirectional=True)|Embedding(3, 4, padding_idx=0, max_norm=1.0)|MultiheadAttention(4, 2)|TransformerEncoderLayer(4, 2)|ConvTranspose1d(2, 4, 3, output_padding=1, stride=2)|BatchNorm2d(3, affine=False)|GRUCell(2, 3)|Upsample(scale_factor=2)|MaxPool2d(2, ceil_mode=True)|AdaptiveAvgPool2d((None, 2))|Bilinear(2, 3, 4)|Softmax(dim=1)|PReLU(3)|Dropout(0.2, True)|LayerNorm((2, 3))|GroupNorm(1, 2)|CrossEntropyLoss()|Flatten()|Unflatten(1, (2, 3))|ParameterList([torch.ones(2)])|ParameterDict(⟨'a': torch.ones(1)⟩)|ModuleDict(⟨'a': nn.ReLU()⟩)|ModuleList([nn.ReLU()])|Identity()|ZeroPad2d(1)|PixelShuffle(2)|CosineSimilarity()|Hardtanh(-2, 2)|EmbeddingBag(3, 2)|Fold((2, 2), 1)})",
                    "repr(torch.nn.utils.parametrizations.{weight_norm|spectral_norm|orthogonal}(nn.Linear(2, 2)))",
                    "repr(torch.{sort(torch.tensor([2, 1]))|max(torch.ones(2, 2), 0)|linalg.qr(torch.eye(2))|svd(torch.eye(2))|return_types.topk})",
                    "repr(torch.distributions.{Normal(0., 1.)|Categorical(torch.ones(3))|Bernoulli(0.5)|Gamma(1., torch.ones(2))|Independent(torch.distributions.Normal(torch.zeros(2), 1.), 1)})",
                    "repr(nn.Parameter(torch.ones(2)))",
                    "repr(torch.eye(2).to_sparse())",
                    "repr(torch.Generator().device)",
                    "repr({x})",
                    "repr({c})",
                    "repr({r}.sum())",
                    "repr([{f}, {i}])",
                    "torch.__version__ > '2'",
                    "repr(torch.finfo(torch.{float32|bfloat16}))",
                    "repr(torch.iinfo(torch.uint8))",
                    "repr({b})",
                )
            )  # fmt: skip
    p.do("torch.set_printoptions(profile='default')")


def more_distributions(p):
    """Transforms, constraints, divergences, arguments that are refused."""
    p.do("import torch.distributions as D; T, C = D.transforms, D.constraints")
    p.do("a = torch.randn({2|3|()}, requires_grad={bool}); b = torch.rand(()) + 0.5")
    for _ in range(7):
        p.do(p.choice(
            "t = T.{ExpTransform()|SigmoidTransform()|TanhTransform()|AffineTransform(1., -2.)|PowerTransform(2.)|SoftplusTransform()|AbsTransform()|SoftmaxTransform()|StickBreakingTransform()|CumulativeDistributionTransform(D.Normal(0., 1.))|IndependentTransform(T.ExpTransform(), 1)|ComposeTransform([T.ExpTransform(), T.AffineTransform(0., 3.)])|ExpTransform(cache_size=1)|CatTransform([T.ExpTransform(), T.ExpTransform()], dim=0, lengths=[1, 1])|ReshapeTransform((2,), (1, 2))|LowerCholeskyTransform()|CorrCholeskyTransform()}",
            "t(a), t.inv(t(a))", "t.log_abs_det_jacobian(a, t(a))", "t.{domain|codomain|bijective|sign|event_dim}", "t.inv.inv is t", "t == t, repr(t)", "t.forward_shape((2,)), t.inverse_shape((2,))",
            "C.{positive|unit_interval|simplex|real|boolean|integer_interval(0, 3)|greater_than(1.)|interval(0., 2.)|lower_triangular|positive_definite|nonnegative_integer|square|symmetric|real_vector|independent(C.positive, 1)}.check({f}{||.abs()})", "D.transform_to(C.{positive|unit_interval|simplex|interval(0., 2.)|greater_than(1.)|real|lower_cholesky})(a)", "D.biject_to(C.{positive|unit_interval|interval(-1., 1.)|less_than(2.)})(a)",
            "D.kl_divergence(D.{Normal(a.detach(), 1.)|Exponential(b)|Gamma(b, b)|Beta(b, b)|Bernoulli(b / 3)|Laplace(0., b)|Uniform(0., b)|Poisson(b)|Categorical(torch.ones(3))|Geometric(b / 3)|Gumbel(0., b)|Pareto(b, b + 1)|HalfNormal(b)|Dirichlet(torch.ones(3))}, D.{Normal(0., 2.)|Exponential(b + 1)|Gamma(b + 1, b)|Beta(b, b + 1)|Bernoulli(0.3)|Laplace(1., b)|Uniform(-1., 3.)|Poisson(2.)|Categorical(torch.arange(1., 4))|Geometric(0.4)|Gumbel(1., b)|Pareto(b / 2, b)|HalfNormal(1.)|Dirichlet(torch.arange(1., 4))})",
            "D.{Normal(0., -1.)|Categorical(torch.tensor([-1., 2.]))|Bernoulli(2.)|Uniform(1., 0.)|Normal(torch.ones(2), torch.ones(3))|Beta(0., 1.)|Poisson(-1.)|Categorical()|Bernoulli(0.5, logits=0.)|MultivariateNormal(torch.zeros(2))|Multinomial(-1, torch.ones(2))|Dirichlet(torch.tensor(1.))}",
            "D.{Normal(0., 1.)|Bernoulli(0.5)|Categorical(torch.ones(3))|Uniform(0., 1.)|Exponential(1.)|Poisson(2.)}.log_prob(torch.tensor({5.|-1.|0.5|1.|float('nan')}))", "D.{Bernoulli(0.5, validate_args=False)|Uniform(0., 1., validate_args=False)|Exponential(1., validate_args=False)}.log_prob(torch.tensor({5.|-1.|0.5}))", "D.TransformedDistribution(D.Normal(a, 1.), [T.{ExpTransform()|AffineTransform(1., 2.)|SigmoidTransform()}]).{sample()|rsample((2,))|log_prob(torch.tensor(0.3))|cdf(torch.tensor(0.4))|support|event_shape|has_rsample}",
            "D.Independent(D.Normal(torch.zeros(2, 3), 1.), {0|1|2|3}).{batch_shape|event_shape|entropy()|log_prob(torch.ones(2, 3))|sample().shape}", "D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.tensor([0., 3.]), 1.)).{sample((3,))|log_prob(torch.tensor(1.))|mean|variance|cdf(torch.tensor(1.))}", "D.Categorical(logits=a).{probs|logits|entropy()|sample((4,))|enumerate_support()|param_shape|mode|mean}", "D.{Normal(a, b)|Gamma(b, b)|Beta(b, b)|Exponential(b)}.rsample((2,)).sum().backward()", "a.grad", "D.{Normal(0., 1.)|Laplace(0., 1.)|Cauchy(0., 1.)|Gumbel(0., 1.)|Exponential(1.)|Uniform(0., 2.)|Weibull(1., 2.)|Pareto(1., 2.)|HalfNormal(1.)|Kumaraswamy(2., 2.)|LogNormal(0., 1.)|HalfCauchy(1.)}.{icdf(torch.tensor({0.3|0.9|0.}))|cdf(torch.tensor({0.3|1.5}))|mode|stddev|entropy()}",
            "D.Wishart(torch.tensor(3.), torch.eye(2)).{mean|variance|log_prob(torch.eye(2))}", "D.LKJCholesky(3, 1.0).{sample()|log_prob(torch.eye(3))}", "D.RelaxedOneHotCategorical(torch.tensor(0.5), logits=torch.zeros(3)).{rsample()|log_prob(torch.tensor([0.2, 0.3, 0.5]))}", "D.VonMises(0., {1.|20.}).{mean|variance|sample((2,))|log_prob(torch.tensor(0.4))}", "D.Binomial(torch.tensor([3, 5]), 0.3).{mean|entropy()|log_prob(torch.tensor([1, 2]))|enumerate_support()|sample()}"))  # fmt: skip


def more_loaders(p):
    """Data sets and samplers of one's own, iterable ones, generators that are shared."""
    p.do("from torch.utils.data import *")
    p.do(
        "class Own(Dataset):\n    def __init__(self, n): self.n = n\n    def __len__(self): return self.n\n    def __getitem__(self, i):\n        if i >= self.n: raise IndexError(i)\n        return {i, float(i)|⟨'x': torch.full((2,), float(i)), 'y': i⟩|torch.rand(2)|np.arange(i, i + 2)|(i, (str(i), [i, i]))|torch.zeros(i + 1)}"
    )
    p.do("class Stream(IterableDataset):\n    def __iter__(self): return iter(range({7|5}))")
    p.do("class Odd(Sampler):\n    def __iter__(self): return iter([1, 3])\n    def __len__(self): return 2")
    p.do(
        "ds = {Own(5)|Own(8)|Stream()|Own(1)|ConcatDataset([Own(2), Own(3)])|Subset(Own(6), [5, 0, 1])|ChainDataset([Stream(), Stream()])|StackDataset(a=Own(3), b=list(range(3)))|TensorDataset(torch.arange(4), torch.eye(4))|random_split(Own(7), [0.5, 0.5], torch.Generator().manual_seed(1))[0]|Own(0)}"
    )
    p.do("g = torch.Generator().manual_seed({3|4})")
    for _ in range(4):
        p.do(
            "l = DataLoader(ds, {batch_size=2|batch_size=3, drop_last=True|batch_size=None|2, True, generator=g|sampler=Odd()|batch_sampler=[[0, 1], [1]]|shuffle=True, generator=g|collate_fn=list|batch_size=2, collate_fn=lambda b: torch.tensor(len(b))|sampler=RandomSampler(range(5), generator=g), batch_size=2|sampler=RandomSampler(Own(4), num_samples=3)|sampler=SubsetRandomSampler([0, 1], generator=g)|batch_size=0|shuffle=True, sampler=Odd()|batch_size=2, num_workers=-1|batch_sampler=[[0]], batch_size=2|timeout=-1|batch_size=4, shuffle=False, pin_memory=False, persistent_workers=True|2, worker_init_fn=print})"
        )
        p.do("list(l)")
        p.do(p.choice("len(l)", "list(l)", "torch.rand(1)", "torch.initial_seed()", "g.get_state().sum()", "l.dataset is ds", "[len(b) for b in l]", "next(iter(l))", "len(ds)", "ds[0]", "ds[-1]", "l.drop_last, l.batch_size", "(lambda it: (next(it), next(it)))(iter(l))"))  # fmt: skip
    p.do(
        "default_collate({[Own(3)[0], Own(3)[1]]|[⟨'a': [1, 2]⟩, ⟨'a': [3, 4]⟩]|[(1, 'a'), (2, 'b')]|[np.ones(2), np.zeros(2)]|[[1, 2], [3]]|[torch.ones(2), 1]|['a', 'b']|[b'a', b'b']|[{1, 2}]|[True, False]|[1.5, 2]|[]})"
    )
    p.do("default_convert({[np.ones(2), 1, 'a']|⟨'a': np.float64(2)⟩|(1, [2.5])})")
    p.do("random_split(range(10), {[3, 7]|[0.3, 0.3, 0.4]|[0.5, 0.6]|[5, 6]|[0.25, 0.75]}, generator=g)[0].indices")


def pruned(p):
    """Parametrizations, pruning, hooks of state dicts, clips, averaged models, what modules say of themselves."""
    p.do("from torch.nn.utils import prune, parametrize, parametrizations")
    if not _net(p):
        return
    p.do("x = torch.randn(4, 3)")
    p.do(
        "class Twice(nn.Module):\n    def forward(self, w): return w * 2\n    def right_inverse(self, w): return w / 2"
    )
    for _ in range(6):
        p.do(p.choice(
            "prune.{l1_unstructured|random_unstructured}(net[0], 'weight', {0.3|2|0.9|20})", "prune.{ln_structured(net[0], 'weight', 0.5, 2, {0|1})|random_structured(net[0], 'weight', 1, 0)}", "prune.remove(net[0], 'weight')", "prune.is_pruned(net)", "prune.global_unstructured([(net[0], 'weight'), (net[-1], 'weight')], prune.L1Unstructured, amount=0.4)", "prune.custom_from_mask(net[-1], 'bias', torch.tensor([1., 0.]))", "parametrize.register_parametrization(net[-1], 'weight', Twice())", "parametrize.remove_parametrizations(net[-1], 'weight', leave_parametrized={bool})", "parametrize.is_parametrized(net[-1]{|, 'weight'})", "parametrizations.{orthogonal|spectral_norm|weight_norm}(net[-1])", "nn.utils.{clip_grad_norm_|get_total_norm|clip_grad_value_}(net.parameters(), 0.1)", "net(x).pow(2).sum().backward()", "net(x)", "[k for k, _ in net.named_parameters()]", "[(k, v.shape) for k, v in net.state_dict().items()]", "nn.utils.parameters_to_vector(net.parameters())", "nn.utils.vector_to_parameters(torch.zeros(sum(q.numel() for q in net.parameters())), net.parameters())", "avg = torch.optim.swa_utils.AveragedModel(net{|, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)|, use_buffers=True}); avg.update_parameters(net)", "avg(x)", "avg.n_averaged", "net.{half|double|float|train|eval|requires_grad_|zero_grad}()", "net.to({fdtype})", "net.apply(lambda m: nn.init.ones_(m.weight) if isinstance(m, nn.Linear) else None)", "net.get_submodule('{0|1|9}')", "net.get_parameter('{0.weight|0.foo}')", "net.register_buffer('{b|0|a.b}', torch.ones(1){|, persistent=False})", "net.load_state_dict(net.state_dict())", "net.load_state_dict(⟨k: v[:1] for k, v in net.state_dict().items()⟩)", "repr(net)", "net.add_module('extra', nn.ReLU())", "del net[{0|-1|7}]", "net[1:](torch.ones(2, {4|6}))", "net.share_memory() is net", "sum(1 for _ in net.modules())", "net.named_modules", "nn.utils.fuse_linear_bn_eval(nn.Linear(2, 3).eval(), nn.BatchNorm1d(3).eval()).weight.shape", "nn.utils.skip_init(nn.Linear, 2, 3).weight.shape", "nn.utils.stateless.functional_call(net, ⟨⟩, x)", "net.register_load_state_dict_pre_hook(lambda m, s, *a: s.pop('0.bias', None))", "net.register_state_dict_pre_hook(lambda m, prefix, keep: None)", "net.__getstate__ if False else len(net)"))  # fmt: skip
    p.do("[q for q in net.parameters()]")


def classes_of_tensors(p):
    """Subclasses, overrides, modes, storages, conversions from and to NumPy."""
    p.do(
        "class Own(torch.Tensor):\n    @classmethod\n    def __torch_function__(cls, f, types, args=(), kwargs=None):\n        if getattr(f, '__name__', '') != '__get__': seen.append(getattr(f, '__name__', str(f)))\n        return super().__torch_function__(f, types, args, kwargs or ⟨⟩)"
    )
    p.do("seen = []")
    p.do("t = torch.arange(6.).reshape(2, 3).as_subclass(Own)")
    for _ in range(8):
        p.do(p.choice("type({t + 1|t.sum()|torch.stack([t, t])|t[0]|t.mean(0)|t.clone()|F.relu(t)|t.detach()|t.T|t.view(-1)|t.max(0)|t.to(torch.float64)|torch.ones(2, 3) * t|t @ t.T|t.tolist()|t.numpy()|t.shape|t.grad}).__name__", "seen", "seen.clear()", "torch.from_numpy(np.arange(4).reshape(2, 2){||[::-1]|.T|.astype('f')|[:, ::2]})", "torch.as_tensor({np.float32(2)|[np.array([1]), np.array([2])]|np.ones(2)|3|[[1], [2.5]]|np.array(5)|range(3)|(1, 2)|'a'}{||, dtype=torch.int64})", "np.asarray({x})", "np.{add|multiply|maximum|sqrt|exp|stack}({f}{|, 2|, {f}})", "{f}.numpy().{shape|dtype|strides|sum()}", "torch.tensor(np.array([1, 2], dtype=np.{int32|float64|uint16|bool_|complex64|float16|int8}))", "{x}.{storage_offset|element_size|nelement|dim|is_contiguous|is_floating_point|is_signed|get_device|type}() {if False else|or} 0", "{x}.untyped_storage().{nbytes()|size()|element_size()}", "torch.{is_tensor|is_storage|is_complex|is_floating_point|is_nonzero|numel}({x})", "{x}.type({torch.FloatTensor|torch.LongTensor|'torch.DoubleTensor'|torch.int16})", "{x}.type()", "torch.{FloatTensor|LongTensor|DoubleTensor|ByteTensor}({[1, 2]|(1, 2)|})", "torch.Tensor({[1, 2]|torch.ones(2)|})", "{x}.new_{tensor([1, 2])|zeros(2)|full((2,), 3)|empty(2).shape|ones((1, 2))}", "{x}.to({x})", "isinstance({x}, torch.{FloatTensor|LongTensor|Tensor})", "torch.asarray({[1, 2]|np.ones(2)|{x}|3.5}{||, copy=True|, dtype=torch.float64})", "torch.result_type({x}, {num})", "torch.can_cast(torch.{float32|int64|bool|complex64}, {dtype})", "torch.promote_types({dtype}, {dtype})", "copy = __import__('copy').{copy|deepcopy}({x})", "{x}.__{len__|bool__|int__|float__|index__|complex__|abs__|invert__|neg__|hash__}() and 1", "{x} {<|>|<=|==|!=} {num}", "{num} {-|/|//|**|%|<<|&|@} {x}", "dir(torch.ones(1)) == [] or hasattr({x}, '{grad|foo|H|data|layout|is_cuda|is_meta|device|_version}')", "{x}.apply_(lambda v: v + 1)", "{f}.map_({f}, lambda a, b: a + b)", "torch.frombuffer(bytearray(b'abcdefgh'), dtype=torch.{uint8|int32|float32|float64}{||, count=1|, offset=4})", "{x}.__array_priority__", "list({x})", "{x} in [1]", "1 in {x}", "divmod({x}, 2)", "round({f}, {1|2})", "abs({x})", "sum({x})", "max({x})", "sorted({f}.flatten())", "[*{x}]", "torch.ones(2).tolist() * {k}", "{x}.itemsize, {x}.nbytes, {x}.ndim"))  # fmt: skip
