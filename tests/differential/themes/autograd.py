"""Gradients: of gradients, through torch.func, hooks, custom functions, detached and frozen tensors."""

THEMES = {"double_backward", "func", "hooks", "custom_functions", "tape"}

_SMOOTH = [
    "{v} * {v}",
    "{v}.{sin|exp|tanh|sigmoid|cos|square|abs|relu|erf|log1p|sqrt|atan|expm1|rsqrt|sinh}()",
    "{v} @ {v}.mT",
    "{v}.{sum|mean|prod|logsumexp|cumsum|cumprod|softmax|log_softmax|flip|norm|std|amax}(-1)",
    "{v} + {v}.mean()",
    "{v} / ({v}.abs() + 1)",
    "{v}.{T|mT}",
    "torch.cat([{v}, {v} * 2])",
    "{v}[..., :1] * {v}",
    "{v}.pow({2|3|1.5|-1})",
    "F.layer_norm({v}, {v}.shape[-1:])",
    "torch.where({v} > 0, {v}, {v} * 2)",
    "{v}.clamp(-1, 1)",
    "torch.atan2({v}, {v} + 2)",
    "{v}.clone().{mul_(2)|relu_()|sigmoid_()|add_({v})|tanh_()|exp_()}",
    "({v} * 1).view_as({v}).{mul_(2)|sigmoid_()|tanh_()|exp_()|relu_()}",
    "{v}.sort(-1)[0]",
    "{v}.transpose(0, -1).reshape({v}.shape)",
    "F.normalize({v}, dim=-1)",
    "{v}.max() - {v}.min()",
    "torch.linalg.vector_norm({v}, dim=-1)",
    "torch.outer({v}.flatten(), {v}.flatten())",
    "F.mse_loss({v}, {v} * 2 + 1)",
    "{v}.unfold(0, 2, 1)",
    "torch.einsum('...i,...i->...', {v}, {v} + 1)",
    "torch.stack([{v}, {v}.detach()])",
    "{v}.expand(2, *{v}.shape).sum(0)",
    "{v}.index_select(0, torch.tensor([0, 0]))",
    "{v}.gather(-1, torch.zeros({v}.shape, dtype=torch.long))",
    "F.softplus({v})",
    "F.gelu({v})",
    "F.binary_cross_entropy_with_logits({v}, torch.ones({v}.shape, dtype={v}.dtype))",
    "F.cross_entropy({v}.reshape(1, -1), torch.tensor([0]))",
    "{v}.var(-1)",
    "{v}.logcumsumexp(-1)",
]


_THIRD = (
    "layer_norm",
    "normalize",
    "logcumsumexp",
    "var",
)  # torch's third derivatives are not those of finite differences


def _function(p, name, lines):
    """Define a function of one tensor."""
    body = ["def " + name + "(v):"]
    for _ in range(lines):
        body.append("    v = " + p.fill(p.random.choice(_SMOOTH).replace("{v}", "v")))
    return p.do("\n".join([*body, "    return v"]))


def _start(p, dtype="torch.float64"):
    return p.let(
        f"torch.{{randn({{n}})|randn({{n}}, {{n}})|rand(3)|rand(2, 2)|randn(2, 3)|arange(4.)}}.to({dtype}).requires_grad_()",
        "x",
    )


def double_backward(p):
    for i in range(3):
        x = _start(p)
        _function(p, f"f{i}", p.random.randint(1, 4))
        body = p.statements[-1]
        y = p.let(f"f{i}({x})", "y")
        if y is None:
            continue
        g = p.let(f"torch.autograd.grad({y}.sum(), {x}, create_graph=True)[0]", "g")
        if g is not None and p.value(g).requires_grad:
            h = p.let(f"torch.autograd.grad(({g} * {g}).sum(), {x}, create_graph=True, allow_unused=True)[0]", "h")
            if (
                h is not None
                and not any(name in body for name in _THIRD)
                and p.chance(0.4)
                and p.value(h) is not None
                and p.value(h).requires_grad
            ):
                p.do(f"torch.autograd.grad({h}.sum(), {x}, allow_unused=True)")
            p.do(f"{g}.sum().backward()")
            p.do(f"{x}.grad")
        if p.chance(0.4):
            p.do(f"torch.autograd.functional.{{jacobian|hessian}}(lambda v: f{i}(v).sum(), {x})")


def func(p):
    for i in range(3):
        x = _start(p)
        p.do(f"{x} = {x}.detach()")
        if not _function(p, f"f{i}", p.random.randint(1, 3)):
            continue
        s = f"lambda v: f{i}(v).sum()"
        for _ in range(3):
            p.do(p.choice(f"torch.func.grad({s})({x})", f"torch.func.grad_and_value({s})({x})", f"torch.func.hessian({s})({x})", f"torch.func.jacrev(f{i})({x})", f"torch.func.jacfwd(f{i})({x})", f"torch.func.vmap(f{i})(torch.stack([{x}, {x} * 2, {x} - 1]))", f"torch.func.vmap(torch.func.grad({s}))(torch.stack([{x}, {x} * 2]))", f"torch.func.jvp(f{i}, ({x},), (torch.ones_like({x}),))", f"torch.func.vjp({s}, {x})[1](torch.tensor(1., dtype=torch.float64))", f"torch.func.vmap(f{i}, in_dims=1, out_dims={{0|1}})(torch.stack([{x}, {x} * 2], 1))", f"torch.func.grad(torch.func.grad({s}) if {x}.dim() == 0 else {s})({x})", f"torch.func.linearize(f{i}, {x})[1](torch.ones_like({x}))", f"torch.func.vmap(lambda a, b: f{i}(a) * b.sum())(torch.stack([{x}, {x}]), torch.ones(2, 3))", f"torch.func.jacrev(torch.func.jacrev({s}))({x})", f"torch.func.vmap(torch.func.jacfwd(f{i}))({x}[None])"))  # fmt: skip


def hooks(p):
    p.do("seen = []")
    x = p.let("torch.randn({n}, 3, requires_grad=True)", "x")
    y = p.let(f"({x} * 2).{{sin|exp|tanh}}()", "y")
    for _ in range(3):
        p.do(
            p.choice(
                f"h = {{{x}|{y}}}.register_hook(lambda g: seen.append(g.sum()))",
                f"h = {{{x}|{y}}}.register_hook(lambda g: g * {{num}})",
                f"h = {y}.grad_fn.register_hook(lambda a, b: seen.append(len(a)))",
                f"h = {y}.grad_fn.register_prehook(lambda a: (a[0] * 2,))",
                f"h = {x}.register_post_accumulate_grad_hook(lambda t: seen.append(t.grad.sum()))",
                f"{y}.retain_grad()",
                "h.remove()",
                f"h = {x}.register_hook(lambda g: None)",
            )
        )
    p.do(f"{y}.{{sum|mean}}().backward(retain_graph=True)")
    p.do("seen")
    p.do(f"{x}.grad")
    p.do(f"{y}.grad")
    p.do(f"{y}.sum().backward()")
    p.do("seen")
    net = p.let("nn.Sequential(nn.Linear(3, 4), nn.{ReLU|Tanh|Dropout}(), nn.Linear(4, 2))", "net")
    for _ in range(3):
        p.do(
            p.choice(
                f"h = {net}[{{0|1|2}}].register_forward_hook(lambda m, i, o: seen.append(o.shape))",
                f"h = {net}[{{0|1|2}}].register_forward_hook(lambda m, i, o: o * {{num}})",
                f"h = {net}[{{0|1|2}}].register_forward_pre_hook(lambda m, i: (i[0] + 1,))",
                f"h = {net}[{{0|2}}].register_full_backward_hook(lambda m, gi, go: seen.append([g is None or g.shape for g in gi]))",
                f"h = {net}[{{0|1|2}}].register_full_backward_pre_hook(lambda m, go: (go[0] * 2,))",
                "h.remove()",
                f"h = {net}.register_forward_hook(lambda m, a, k, o: seen.append(len(k)), with_kwargs=True)",
                f"h = {net}.register_state_dict_post_hook(lambda m, s, pre, l: seen.append(pre))",
                f"h = {net}[0].weight.register_hook(lambda g: g.clamp(-0.1, 0.1))",
            )
        )
    out = p.let(f"{net}(torch.randn({{n}}, 3, requires_grad={{bool}}))", "o")
    if out:
        p.do(f"{out}.pow(2).sum().backward()")
        p.do("seen")
        p.do(f"[q.grad for q in {net}.parameters()]")
        p.do(f"list({net}.state_dict())")


def custom_functions(p):
    for i in range(3):
        save = p.choice(
            "ctx.save_for_backward(x, y)",
            "ctx.save_for_backward(x, y); ctx.k = k",
            "ctx.x = x; ctx.save_for_backward(x, y)",
        )
        forward = p.choice(
            "x * y", "x.exp() * y", "x + y * k", "(x * y, x + y)", "x.clone(), 7", "(x * y).sum()", "x.sin(), y"
        )
        lines = [
            f"class F{i}(torch.autograd.Function):",
            "    @staticmethod",
            "    def forward(ctx, x, y, k=2):",
            "        " + save,
        ]
        if p.chance(0.3):
            lines.append(
                p.choice(
                    "        ctx.set_materialize_grads(False)",
                    "        ctx.mark_non_differentiable(y)",
                    "        ctx.mark_dirty(x)",
                    "        r = 1",
                )
            )
        lines += [
            "        return " + forward,
            "    @staticmethod",
            "    def backward(ctx, *g):",
            "        x, y = ctx.saved_tensors",
            "        a = g[0]" + p.choice("", " * 2", " + 0"),
        ]
        lines += [
            "        return "
            + p.choice(
                "a * y, a * x, None",
                "a * y, None, None",
                "a, a * x.sum()",
                "a * y, a * x, None, None",
                "None, a.sum() * y, None",
                "a * y, a * x, 3",
            )
        ]
        p.do("\n".join(lines))
        x, y = (
            p.let("torch.randn({(3,)|(2, 2)|()}, requires_grad=True)", "x"),
            p.let("torch.randn({(3,)|(2, 2)|()}, requires_grad={bool})", "y"),
        )
        out = p.let(f"F{i}.apply({x}, {y}{{|, 3}})", "o")
        if out is not None:
            p.do(f"r = {out} if isinstance({out}, torch.Tensor) else {out}[0]")
            p.do("r.grad_fn.name() if r.grad_fn else None")
            p.do("r.sum().backward({|create_graph=True|retain_graph=True})")
            p.do(f"{x}.grad")
            p.do(f"{y}.grad")
            p.do(f"F{i}.apply({x} * 2, {y})" + p.choice("", ".sum().backward()"))
            p.do(f"{x}.grad")


def tape(p):
    """What requires grad, what a step leaves behind, what raises."""
    x = p.let("torch.randn({n}, 2, requires_grad=True)", "x")
    for _ in range(9):
        names = [n for n in p.names if p.value(n).is_floating_point()]
        v, w = p.random.choice(names), p.random.choice(names)
        p.do(
            p.choice(
                f"{v}.backward()",
                f"{v}.sum().backward({{|retain_graph=True|create_graph=True}})",
                f"{v}.grad",
                f"{v}.requires_grad",
                f"{v}.is_leaf",
                f"{v}.grad_fn is None",
                f"{v}.retain_grad()",
                f"{v}.detach_()",
                f"{v}.requires_grad_({{bool}})",
                f"{v}.requires_grad = {{bool}}",
                f"{v}.grad = {{None|torch.ones(2)|torch.ones_like({v})|1}}",
                f"{v}.data.mul_(2)",
                f"{v}.add_(1)",
                f"with torch.no_grad(): {v}.mul_(0.5)",
                f"{v}._version",
                f"{v}.grad_fn.next_functions[0][0].name()",
                f"torch.autograd.grad({v}.sum(), {w}, allow_unused={{bool}}, retain_graph=True)",
                f"torch.autograd.backward([{v}.sum(), {w}.sum()])",
                f"{v}.grad.zero_()",
                f"{v}.sum().backward(inputs=[{w}])",
                f"{v}.backward(torch.ones_like({v}), retain_graph=True)",
                f"{v}.output_nr",
                f"torch.autograd.grad([{v}.sum()], [{w}], grad_outputs=[torch.tensor(2.)], retain_graph=True)",
                f"{v}.data_ptr() == {w}.data_ptr()",
            )
        )
        if p.chance(0.7):
            p.let(
                p.choice(
                    f"{v} * {w}",
                    f"{v}.detach()",
                    f"{v}.clone()",
                    f"{v}.{{sin|exp|relu|sum|mean|t}}()",
                    f"{v}[0]",
                    f"{v}.data",
                    f"torch.no_grad()(lambda: {v} * 2)()",
                    f"{v}.view(-1)",
                    f"{v} + {w}.detach()",
                    f"nn.Parameter({v}.detach())",
                    "torch.tensor({1.|[1., 2.]}, requires_grad=True)",
                    f"{v}.float()",
                    f"{v}.to(torch.float64)",
                    f"torch.inference_mode()(lambda: {v} * 2)()",
                    f"torch.enable_grad()(lambda: {v} * 2)()",
                )
            )
    p.do(f"{x}.grad")
