"""Modules with random options, optimizers, schedulers, checkpoints of them."""

THEMES = {"layers", "recurrent", "containers", "optimizers", "schedulers", "initialization"}

_LAYERS = [  # (module, input)
    ("nn.Linear({n}, {n}, bias={bool})", "{2, |}{in}"), ("nn.Bilinear(3, 4, {n}, bias={bool})", "3, 3;3, 4"),
    ("nn.Conv1d({2|4}, {2|4}, {1|3}, stride={1|2}, padding={0|1|'same'}, groups={1|2}, bias={bool}, padding_mode='{zeros|circular|reflect|replicate}')", "2, {2|4}, 9"),
    ("nn.Conv2d({2|4}, {2|4}, {1|3|(3, 2)}, stride={1|2|(2, 1)}, padding={0|1|(1, 0)}, dilation={1|2}, groups={1|2}, bias={bool}, padding_mode='{zeros|zeros|circular|reflect|replicate}')", "2, {2|4}, 7, 8"),
    ("nn.ConvTranspose1d({2|4}, {2|4}, 3, stride={1|2}, padding={0|1}, output_padding={0|1}, groups={1|2})", "2, {2|4}, 7"), ("nn.ConvTranspose2d({2|4}, {2|4}, {2|3}, stride={1|2}, padding={0|1}, output_padding={0|1}, groups={1|2}, bias={bool}, dilation={1|2})", "1, {2|4}, 4, 5"), ("nn.Conv3d(2, 2, {1|2}, padding={0|1})", "1, 2, 3, 4, 4"),
    ("nn.BatchNorm1d(3, eps={1e-5|1e-2}, momentum={0.1|None|0.5}, affine={bool}, track_running_stats={bool})", "{4, 3|4, 3, 5|1, 3|2, 3, 1}"), ("nn.BatchNorm2d({2|4}, momentum={0.1|None}, affine={bool})", "3, {2|4}, 3, 2"), ("nn.InstanceNorm{1|2}d(3, affine={bool}, track_running_stats={bool})", "{2, 3, 5|2, 3, 4, 4|3, 4}"), ("nn.GroupNorm({1|2|4}, 4, affine={bool})", "2, 4, {3|3, 2}"), ("nn.LayerNorm({3|(2, 3)|[3]}, elementwise_affine={bool}, bias={bool})", "{4, 2, 3|2, 3}"), ("nn.RMSNorm(3, elementwise_affine={bool})", "2, 3"), ("nn.LocalResponseNorm({2|3})", "2, 4, 5, 5"),
    ("nn.MaxPool2d({2|3}, stride={None|1|2}, padding={0|1}, dilation={1|2}, ceil_mode={bool}, return_indices={bool})", "{1, 2|2, 3}, 7, 6"), ("nn.AvgPool2d({2|3}, stride={None|1}, padding={0|1}, ceil_mode={bool}, count_include_pad={bool})", "2, 2, 6, 7"), ("nn.MaxPool1d({2|3}, {None|1})", "2, 3, 8"), ("nn.AvgPool1d({2|3})", "2, 3, 8"), ("nn.AdaptiveAvgPool{1|2}d({1|2|3})", "2, 3, {5|5, 7}"), ("nn.AdaptiveMaxPool2d({(2, 3)|1|(None, 2)})", "2, 3, 5, 7"), ("nn.LPPool2d({1|2}, 2)", "1, 2, 4, 4"), ("nn.FractionalMaxPool2d(2, output_size=3)", "1, 2, 7, 7"),
    ("nn.{ReLU|ReLU6|ELU|SELU|CELU|GELU|SiLU|Mish|Softplus|Softsign|Tanh|Sigmoid|LogSigmoid|Tanhshrink|Hardtanh|Hardswish|Hardsigmoid|LeakyReLU|Hardshrink|Softshrink|PReLU|RReLU|Identity|Flatten|Softmax(-1)|LogSoftmax(0)|GLU|Softmin(0)|Softmax2d}()", "{3, 4|2, 3, 4|4}"), ("nn.{ELU|CELU|LeakyReLU|Hardshrink|Softshrink|Dropout|AlphaDropout|Softplus}({0.5|0.1|1.0})", "3, 4"), ("nn.PReLU({1|3})", "2, 3"), ("nn.Threshold(0.1, {num})", "5"), ("nn.{ReLU|SELU|ReLU6|SiLU}(inplace=True)", "3"),
    ("nn.Dropout{1d|2d|3d|}({0.5|0.2|0.0})", "2, 3, 4{|, 4|, 4, 2}"), ("nn.ZeroPad2d({1|(1, 0, 2, 1)})", "1, 2, 3, 3"), ("nn.{ReflectionPad|ReplicationPad|ConstantPad|CircularPad}1d({1|(2, 1)}{|, 1.5})", "1, 2, 4"), ("nn.Upsample(scale_factor={2|1.5|0.5}, mode='{nearest|bilinear|bicubic}')", "1, 2, 4, 3"), ("nn.PixelShuffle(2)", "1, 4, 3, 3"), ("nn.Unfold({2|3}, stride={1|2})", "1, 2, 5, 5"), ("nn.Fold((4, 4), 2)", "1, 8, 9"), ("nn.Flatten({0|1}, {-1|2})", "2, 3, 4"), ("nn.Unflatten(1, (2, {2|-1}))", "3, 4"), ("nn.CosineSimilarity({0|1})", "3, 4;3, 4"), ("nn.PairwiseDistance({1|2}, keepdim={bool})", "3, 4;3, 4"), ("nn.ChannelShuffle(2)", "1, 4, 2, 2"),
    ("nn.MultiheadAttention(8, {1|2|4}, bias={bool}, batch_first={bool}, add_bias_kv={bool}, add_zero_attn={bool})", "3, 2, 8;5, 2, 8;5, 2, 8"), ("nn.TransformerEncoderLayer(8, {1|2}, {4|16}, dropout={0.0|0.1}, activation='{relu|gelu}', batch_first={bool}, norm_first={bool})", "3, 2, 8"), ("nn.TransformerDecoderLayer(8, 2, 16, {0.0|0.2}, norm_first={bool})", "3, 2, 8;5, 2, 8"), ("nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 2, 8, {0.0|0.1}), {1|2})", "3, 2, 4"), ("nn.Sequential(nn.Linear(3, 4), nn.{ReLU|Tanh}(), nn.Dropout({0.0|0.5}), nn.Linear(4, 2))", "5, 3"),
]  # fmt: skip


def layers(p):
    for _ in range(3):
        module, shapes = p.choice(*_LAYERS)
        net = p.let(module, "net")
        if net is None:
            continue
        inputs = []
        for shape in p.fill(shapes.replace("{in}", str(getattr(p.value(net), "in_features", 3)))).split(";"):
            inputs.append(p.let(f"torch.randn({shape}, requires_grad={{bool}})", "x"))
        for _ in range(2):
            out = p.let(f"{net}({', '.join(inputs)})", "o")
            if out is None:
                break
            first = f"({out} if isinstance({out}, torch.Tensor) else {out}[0])"
            p.do(f"{net}.zero_grad({{|set_to_none=False}})")
            if p.do(f"({first} * torch.arange({first}.numel()).view({first}.shape)).sum().backward()"):
                p.do(f"[q.grad for q in [{', '.join(inputs)}, *{net}.parameters()]]")
            p.do(
                p.choice(
                    f"{net}.eval()",
                    f"{net}.train()",
                    f"{net}.requires_grad_(False)",
                    f"{net}.double()" if p.chance(0.1) else f"{net}.eval()",
                )
            )
        p.do(f"{net}.state_dict()")
        p.do(
            p.choice(
                f"[n for n, _ in {net}.named_parameters()]",
                f"{net}.extra_repr()",
                f"sum(q.numel() for q in {net}.parameters())",
                f"[m for m in {net}.modules()]",
            )
        )


def recurrent(p):
    for _ in range(2):
        net = p.let(
            "nn.{RNN|LSTM|GRU}(3, 4, num_layers={1|2}, bias={bool}, batch_first={bool}, dropout={0.0|0.5}, bidirectional={bool})",
            "net",
        )
        x = p.let("torch.randn(5, 2, 3, requires_grad={bool})", "x")
        out = p.let(f"{net}({x})", "o") if net else None
        if out is None:
            continue
        p.do(f"{out}[0].pow(2).sum().backward()")
        p.do(f"[q.grad for q in {net}.parameters()]")
        if p.chance(0.5):
            packed = p.let(
                "nn.utils.rnn.pack_padded_sequence(torch.randn(2, 4, 3), [4, {1|2|4}], batch_first=True)", "k"
            )
            p.let(f"{net}({packed})[0].data", "o")
        if p.chance(0.5):
            p.let(f"{net}({x}, {out}[1])", "o")
        cell = p.let("nn.{RNN|LSTM|GRU}Cell(3, 4, bias={bool})", "cell")
        p.let(f"{cell}(torch.randn(2, 3))", "o")
        e = p.let(
            "nn.Embedding(5, 3, padding_idx={None|0|-1}, max_norm={None|1.0}, scale_grad_by_freq={bool}, sparse=False)",
            "e",
        )
        p.do(f"{e}(torch.tensor([[0, 1, 1], [4, {{2|0}}, 3]])).pow(2).sum().backward()")
        p.do(f"{e}.weight.grad")
        b = p.let("nn.EmbeddingBag(5, 3, mode='{sum|mean|max}', padding_idx={None|1}, include_last_offset={bool})", "b")
        p.do(f"{b}(torch.tensor([0, 1, 1, 4]), torch.tensor([0, 2, 4]))")


def containers(p):
    p.do(
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(3, 4)\n        self.b = nn.{Sequential|ModuleList}([nn.Linear(4, 2)] if {bool} else [])\n        self.register_buffer('k', torch.ones(2), persistent={bool})\n        self.w = nn.Parameter(torch.zeros(2))\n    def forward(self, x):\n        return self.a(x)".replace(
            "nn.{Sequential|ModuleList}([nn.Linear(4, 2)] if {bool} else [])",
            p.choice(
                "nn.Sequential(nn.Linear(4, 2), nn.Tanh())",
                "nn.ModuleList([nn.Linear(4, 2), nn.Linear(4, 2)])",
                "nn.ModuleDict(⟨'q': nn.Linear(4, 1)⟩)",
                "nn.ParameterList([torch.ones(2)])",
            ),
        )
    )
    net = p.let("Net()", "net")
    for _ in range(8):
        p.do(
            p.choice(
                f"{net}",
                f"[n for n, _ in {net}.named_{{modules|children|parameters|buffers}}()]",
                f"{net}.state_dict()",
                f"{net}.load_state_dict({net}.state_dict())",
                f"{net}.load_state_dict(⟨'w': torch.ones({{2|3}})⟩, strict={{bool}})",
                f"{net}.add_module('{{c|a|c.d}}', nn.{{ReLU()|Linear(2, 2)}})",
                f"{net}.register_buffer('{{k|m}}', {{None|torch.zeros(1)}})",
                f"{net}.get_parameter('{{w|a.weight|zz}}')",
                f"{net}.get_submodule('{{a|b|x}}')",
                f"del {net}.{{a|w|k|zz}}",
                f"{net}.w = {{nn.Parameter(torch.ones(2))|None|torch.ones(2)|3}}",
                f"{net}.k = {{torch.ones(3)|None|3}}",
                f"{net}.{{half|double|float|bfloat16}}()",
                f"{net}.to({{torch.float64|'cpu'|'meta' if 0 else 'cpu'}})",
                f"{net}.apply(lambda m: None)",
                f"{net}.train({{bool}}).training",
                f"list({net}.parameters())",
                f"len({net}.b)",
                f"{net}.zero_grad()",
                f"{net}.foo",
                f"{net}.b[{{0|-1|'q'|5}}]",
                f"{net}.b.{{append|extend|insert|add_module}}(nn.ReLU())",
                f"copy = __import__('copy').deepcopy({net})",
                f"{net}(torch.randn({{2, 3|3|2, 4}}))",
                f"{net}.type(torch.float64)",
                f"nn.utils.parameters_to_vector({net}.parameters())",
                f"nn.utils.clip_grad_norm_({net}.parameters(), 1.0)",
                f"{net}.requires_grad_({{bool}})",
            )
        )


_OPTIMIZERS = [
    "SGD({q}, lr={0.1|0.01}, momentum={0|0.9}, dampening={0|0.1}, weight_decay={0|0.01}, nesterov={bool}, maximize={bool})", "Adam({q}, lr={0.1|0.01}, betas=({0.9|0.5}, 0.99), eps={1e-8|1e-3}, weight_decay={0|0.1}, amsgrad={bool}, maximize={bool})", "AdamW({q}, lr=0.01, weight_decay={0.01|0.1}, amsgrad={bool})", "RMSprop({q}, lr=0.01, alpha={0.99|0.5}, momentum={0|0.9}, centered={bool}, weight_decay={0|0.1})", "Adagrad({q}, lr=0.1, lr_decay={0|0.1}, initial_accumulator_value={0|0.1})", "Adadelta({q}, rho={0.9|0.5}, weight_decay={0|0.1})", "Adamax({q})", "NAdam({q}, momentum_decay={4e-3|0.1}, decoupled_weight_decay={bool})", "RAdam({q}, weight_decay={0|0.1})", "Rprop({q}, etas=({0.5|0.3}, 1.2))", "ASGD({q}, t0={1|1e6})", "Adafactor({q})", "Adam([⟨'params': {q1}⟩, ⟨'params': {q2}, 'lr': 0.5⟩], lr=0.1)",
    "SGD([⟨'params': {q1}, 'weight_decay': 0.1⟩, ⟨'params': {q2}⟩], lr=0.1)", "LBFGS({q}, lr={1|0.1}, max_iter={2|4}, line_search_fn={None|'strong_wolfe'})", "SGD({q}, lr=-1)", "Adam({q}, betas=(1.5, 0.9))",
]  # fmt: skip


def optimizers(p):
    net = p.let("nn.Sequential(nn.Linear(3, 4), nn.{Tanh|ReLU|Sigmoid}(), nn.Linear(4, 1))", "net")
    x, y = p.let("torch.randn({2|5}, 3)", "x"), p.let("torch.randn(1)", "y")
    text = p.choice(*_OPTIMIZERS)
    if "LBFGS" in text:  # its line search magnifies what is left of differences of losses
        p.do(f"{net} = {net}.double()")
        x, y = p.let(f"{x}.double()", "x"), p.let(f"{y}.double()", "y")
    for name, members in (
        ("{q1}", f"{net}[0].parameters()"),
        ("{q2}", f"{net}[2].parameters()"),
        ("{q}", f"{net}.parameters()"),
    ):
        text = text.replace(name, members)
    opt = p.let("torch.optim." + text + "", "opt")
    if opt is None:
        return
    closure = f"def closure():\n    {opt}.zero_grad()\n    loss = ({net}({x}) - {y}).pow(2).mean()\n    loss.backward()\n    return loss"
    p.do(closure.replace("{", "⟨").replace("}", "⟩"))
    for _ in range(4):
        if p.chance(0.7):
            p.do(f"{opt}.step(closure)")
        else:
            p.do("closure()")
            p.do(
                p.choice(
                    f"nn.utils.clip_grad_norm_({net}.parameters(), {{0.1|1.0|float('inf')}}, norm_type={{2|1|float('inf')}})",
                    f"nn.utils.clip_grad_value_({net}.parameters(), 0.01)",
                    "1",
                )
            )
            p.do(f"{opt}.step()")
        p.do(f"list({net}.parameters())")
        if p.chance(0.3):
            p.do(
                p.choice(
                    f"{opt}.param_groups[0]['lr'] = 0.5",
                    f"{opt}.load_state_dict({opt}.state_dict())",
                    f"{opt}.zero_grad(set_to_none={{bool}})",
                    f"{opt}.add_param_group(⟨'params': [nn.Parameter(torch.zeros(2))]⟩)",
                    f"repr({opt})",
                    f"{net}[0].weight.requires_grad_(False)",
                    f"{opt}.state.clear()",
                )
            )
    p.do(f"{opt}.state_dict()['param_groups']")
    p.do(f"[sorted(s) for s in {opt}.state_dict()['state'].values()]")
    p.do(f"[[v for v in s.values() if v is not None] for s in {opt}.state_dict()['state'].values()]")


_SCHEDULERS = [
    "StepLR(o, {2|3}, gamma={0.1|0.5})",
    "MultiStepLR(o, [2, {4|5}], gamma=0.5)",
    "ExponentialLR(o, 0.9)",
    "CosineAnnealingLR(o, {4|10}, eta_min={0|0.01})",
    "CosineAnnealingWarmRestarts(o, {2|3}, T_mult={1|2})",
    "LinearLR(o, start_factor={0.1|0.5}, total_iters={3|5})",
    "ConstantLR(o, 0.5, {2|4})",
    "PolynomialLR(o, 5, power={1.0|2.0})",
    "OneCycleLR(o, max_lr={0.1|[0.1]}, total_steps=12, pct_start={0.3|0.5}, anneal_strategy='{cos|linear}', three_phase={bool})",
    "CyclicLR(o, 0.01, 0.1, step_size_up={2|3}, mode='{triangular|triangular2|exp_range}', gamma=0.9, cycle_momentum={bool})",
    "LambdaLR(o, lambda e: 1 / (e + 1))",
    "MultiplicativeLR(o, lambda e: 0.9)",
    "ReduceLROnPlateau(o, mode='{min|max}', patience={0|1}, factor=0.5, threshold_mode='{rel|abs}', cooldown={0|1})",
    "SequentialLR(o, [torch.optim.lr_scheduler.ConstantLR(o, 0.1, 2), torch.optim.lr_scheduler.ExponentialLR(o, 0.9)], [{2|3}])",
    "ChainedScheduler([torch.optim.lr_scheduler.StepLR(o, 2), torch.optim.lr_scheduler.ExponentialLR(o, 0.9)])",
]


def schedulers(p):
    p.do("w = nn.Parameter(torch.ones(2))")
    p.do(
        p.choice(
            "o = torch.optim.SGD([w], lr={0.1|1.0}, momentum={0|0.9})",
            "o = torch.optim.Adam([w], lr=0.01)",
            "o = torch.optim.SGD([⟨'params': [w], 'lr': 0.1⟩, ⟨'params': [nn.Parameter(torch.ones(1))]⟩], lr=1.0)",
        )
    )
    if not p.do("s = torch.optim.lr_scheduler." + p.choice(*_SCHEDULERS)):
        return
    for i in range(10):
        p.do("o.step()")
        plateau = "ReduceLROnPlateau" in p.statements[2]
        p.do(f"s.step({p.random.choice([1.0, 0.9, 0.5, 2.0])})" if plateau else "s.step()")
        p.do("[g['lr'] for g in o.param_groups]")
        if i == 5:
            p.do(
                p.choice(
                    "s.get_last_lr()",
                    "s.state_dict()",
                    "s.load_state_dict(s.state_dict())",
                    "[g.get('momentum') for g in o.param_groups]",
                    "s.last_epoch",
                )
            )


def initialization(p):
    for _ in range(8):
        w = p.let("torch.zeros({(3, 4)|(4, 2, 3, 3)|(5,)|(2, 3)|()})", "w")
        if p.do(
            f"nn.init.{{uniform_({w}, -1, 1)|normal_({w}, 0, {{num}})|constant_({w}, {{num}})|ones_({w})|zeros_({w})|eye_({w})|dirac_({w})|xavier_uniform_({w}, gain={{num}})|xavier_normal_({w})|kaiming_uniform_({w}, a={{num}}, mode='fan_{{in|out}}')|kaiming_normal_({w}, nonlinearity='{{relu|leaky_relu|tanh|linear}}')|trunc_normal_({w}, std={{num}})|orthogonal_({w})|sparse_({w}, 0.3)}}"
        ):
            p.do(w)
        p.do("nn.init.calculate_gain('{relu|tanh|sigmoid|leaky_relu|selu|linear|foo}'{|, 0.2})")
