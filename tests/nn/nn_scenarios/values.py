"""Initial values, and the size of gradients."""

from .answers import attempt, net, plain, ramp, warned

INIT = [
    ("uniform_", (3, 4), {}), ("uniform_", (20,), {"a": -2.0, "b": 3.0}), ("normal_", (3, 4), {}),
    ("normal_", (40,), {"mean": 1.0, "std": 0.2}), ("constant_", (3,), {"val": 0.3}), ("ones_", (3,), {}),
    ("zeros_", (3,), {}), ("eye_", (3, 5), {}), ("dirac_", (4, 3, 3), {}), ("dirac_", (4, 2, 3, 2), {"groups": 2}),
    ("dirac_", (3, 3, 1, 3, 2), {}), ("xavier_uniform_", (3, 5), {}), ("xavier_uniform_", (3, 5, 2), {"gain": 1.5}),
    ("xavier_normal_", (3, 7), {}), ("kaiming_uniform_", (3, 5), {}),
    ("kaiming_uniform_", (4, 5, 3), {"mode": "fan_out"}),
    ("kaiming_uniform_", (3, 5), {"a": 0.3, "nonlinearity": "leaky_relu"}),
    ("kaiming_normal_", (5, 5), {"nonlinearity": "relu"}), ("kaiming_normal_", (5, 5), {"mode": "fan_out"}),
    ("trunc_normal_", (40,), {}), ("trunc_normal_", (5, 5), {"std": 0.02}),
    ("trunc_normal_", (40,), {"a": -0.5, "b": 0.4}), ("trunc_normal_", (40,), {"a": 0.5, "b": 0.7}),
    ("trunc_normal_", (20,), {"mean": 1.0, "std": 2.0, "a": 2.5, "b": 3.0}), ("sparse_", (6, 4), {"sparsity": 0.4}),
    ("sparse_", (6, 4), {"sparsity": 0.9, "std": 1.0}),
]  # fmt: skip


def init(T):
    """Values after a seed, and the next draw, which shows how much of the stream was used."""
    log = []
    for name, shape, options in INIT:
        function = getattr(T.nn.init, name)
        T.manual_seed(5)
        tensor = T.empty(*shape)
        same = function(tensor, **options) is tensor
        log.append([name, same, tensor.double().flatten().tolist(), T.rand(1).item()])
        if "val" not in options and name not in ("ones_", "zeros_", "eye_", "dirac_", "sparse_"):
            generator = T.Generator().manual_seed(9)
            log.append(function(T.empty(*shape), **options, generator=generator).double().flatten()[:5].tolist())
    return plain(log)


def orthogonal(T):
    log = []
    for shape, gain in (((4, 4), 1), ((3, 5), 2.0), ((5, 3), 1), ((2, 3, 2), 1)):
        T.manual_seed(5)
        log.append([T.nn.init.orthogonal_(T.empty(*shape), gain).flatten().tolist(), T.rand(1).item()])
    return log


def init_facts(T):
    I = T.nn.init
    gains = ["linear", "conv2d", "conv_transpose1d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"]
    return [
        [I.calculate_gain(name) for name in gains],
        I.calculate_gain("leaky_relu", 0.5),
        attempt(lambda: I.calculate_gain("leaky_relu", True)),
        attempt(lambda: I.calculate_gain("what")),
        I._calculate_fan_in_and_fan_out(T.empty(3, 5, 2, 2)),
        attempt(lambda: I.xavier_uniform_(T.empty(3))),
        attempt(lambda: I.kaiming_uniform_(T.empty(3, 3), mode="fan")),
        attempt(lambda: I.eye_(T.empty(3))),
        attempt(lambda: I.sparse_(T.empty(3), 0.1)),
        attempt(lambda: I.orthogonal_(T.empty(3))),
        attempt(lambda: I.dirac_(T.empty(3))),
        attempt(lambda: I.dirac_(T.empty(3, 3, 3), groups=2)),
        warned(lambda: I.kaiming_uniform_(T.empty(0, 3)).numel()),
        warned(lambda: I.constant(T.empty(2), 3.0)),
        warned(lambda: I.trunc_normal_(T.empty(2), mean=9.0).numel()),
        I.ones_(T.nn.Parameter(T.zeros(1))).requires_grad,
    ]


def clipping(T):
    U = T.nn.utils

    def grads():
        ps = [T.nn.Parameter(T.zeros(3)), T.nn.Parameter(T.zeros(2, 2)), T.nn.Parameter(T.zeros(1))]
        ps[0].grad = T.tensor([3.0, -4.0, 0.5])
        ps[1].grad = T.tensor([[1.0, 2.0], [-3.0, 0.0]])
        return ps

    log = []
    for max_norm, norm_type in ((1.0, 2.0), (100.0, 2), (1.0, float("inf")), (2.5, 1), (1.0, 3.0)):
        ps = grads()
        total = U.clip_grad_norm_(ps, max_norm, norm_type)
        log.append([total.item(), total.dim(), [p.grad for p in ps]])
    ps = grads()
    U.clip_grad_value_(iter(ps), 1)
    log.append([p.grad for p in ps])
    ps = grads()
    log.append([U.get_total_norm([p.grad for p in ps[:2]]).item(), U.get_total_norm([]).item()])
    U.clip_grads_with_norm_(ps, 1.0, T.tensor(10.0))
    log.append(ps[0].grad)
    log.append([U.clip_grad_norm_(grads()[0], 1.0, foreach=False).item(), U.clip_grad_norm_([], 1.0).item()])
    ps[0].grad[0] = float("nan")
    log.append(attempt(lambda: U.clip_grad_norm_(ps, 1.0, error_if_nonfinite=True)))
    log.append(warned(lambda: U.clip_grad_norm_((p for p in []), 1.0).item()))
    log.append(warned(lambda: U.clip_grad_norm(grads(), 1.0).item()))
    m = net(T)
    vector = U.parameters_to_vector(m.parameters())
    log.append([vector.shape[0], vector.requires_grad])
    U.vector_to_parameters(T.arange(vector.shape[0]).float(), m.parameters())
    log += [m.scale, m.head[1].weight, attempt(lambda: U.vector_to_parameters([1], m.parameters()))]
    return plain(log)


def sequences(T):
    R = T.nn.utils.rnn
    x = T.arange(12.0).reshape(3, 2, 2)
    a, b, c = T.arange(3.0), T.arange(5.0), T.arange(1.0)
    log = [R.pad_sequence([a, b, c]), R.pad_sequence([a, b, c], batch_first=True, padding_value=-1.0)]
    log.append(R.pad_sequence([a, b], batch_first=True, padding_side="left"))
    log += [list(p) for p in (R.pack_padded_sequence(x, [3, 2]), R.pack_sequence([a, b, c], enforce_sorted=False))]
    unsorted = R.pack_padded_sequence(x.transpose(0, 1), T.tensor([2, 3]), batch_first=True, enforce_sorted=False)
    log += [list(unsorted), R.pad_packed_sequence(unsorted), R.pad_packed_sequence(unsorted, True, -1.0, 5)]
    log.append(R.unpack_sequence(R.pack_sequence([a, b, c], enforce_sorted=False)))
    log.append(R.unpad_sequence(R.pad_sequence([a, b], True), T.tensor([3, 5]), True))
    log.append([str(unsorted.double().data.dtype), unsorted.float() is unsorted, unsorted.is_cuda])
    leaf = T.ones(3, 2, requires_grad=True)
    padded, _ = R.pad_packed_sequence(R.pack_padded_sequence(leaf * 2, [3, 1]))
    (padded * x[..., 0]).sum().backward()
    log.append(leaf.grad)
    log.append(R.invert_permutation(T.tensor([2, 0, 1])))
    log += [attempt(lambda lengths=lengths: R.pack_padded_sequence(x, lengths)) for lengths in ([2, 3], [3, 0], [3])]
    log.append(attempt(lambda: R.pad_packed_sequence(unsorted, total_length=2)))
    log += [attempt(lambda: R.pad_sequence(3)), attempt(lambda: R.pad_sequence([]))]
    log.append(attempt(lambda: R.pad_sequence([a, b], padding_side="up")))
    return plain([list(v) if isinstance(v, tuple) else v for v in log])


def normalized_weights(T):
    nn, U = T.nn, T.nn.utils
    log = []
    for make, x in (
        (lambda: nn.Linear(3, 2), ramp(T, 4, 3)),
        (lambda: nn.ConvTranspose2d(2, 3, 2), ramp(T, 1, 2, 3, 3)),
    ):
        for norm, undo, options in (
            (U.weight_norm, U.remove_weight_norm, {}),
            (U.weight_norm, U.remove_weight_norm, {"dim": None}),
            (U.spectral_norm, U.remove_spectral_norm, {}),
            (U.spectral_norm, U.remove_spectral_norm, {"n_power_iterations": 3, "dim": 1}),
        ):
            T.manual_seed(2)
            m = make()
            warnings_given = warned(lambda m=m, norm=norm, options=options: norm(m, **options) is m)
            log.append([warnings_given, [[k, list(v.shape)] for k, v in m.state_dict().items()]])
            m(x)
            m(x).square().sum().backward()
            log += [m.weight, [p.grad for p in m.parameters()], warned(lambda m=m, norm=norm: norm(m))]
            m.eval()
            log.append(m(x).sum().item())
            log += [repr(undo(m)), [k for k, _ in m.named_parameters()], m(x).sum().item(), len(m._forward_pre_hooks)]
            log.append(attempt(lambda m=m, undo=undo: undo(m)))
    return plain(log)


SCENARIOS = {f.__name__: f for f in (init, orthogonal, init_facts, clipping, sequences, normalized_weights)}
