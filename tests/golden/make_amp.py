"""Write amp.json: what short programs with autocast and GradScaler answer under torch on the CPU.

Run: python tests/golden/make_amp.py, with torch installed. Each function below takes the package and returns plain
values; the tests call them with Rushlight.
"""

import json
import warnings
from pathlib import Path


def kind(t):
    return None if t is None else str(t.dtype).removeprefix("torch.")


def network(T):
    nn = T.nn
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.LayerNorm(144), nn.Linear(144, 5)
    )


def training(T, dtype="bfloat16", scaled=False):
    """Losses, types and the sum of the parameters' squares of a training loop."""
    T.manual_seed(0)
    model = network(T)
    optimizer = T.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    scaler = T.amp.GradScaler("cpu", init_scale=256.0, growth_interval=2, enabled=scaled)
    images, labels = T.randn(8, 1, 8, 8), T.randint(0, 5, (8,))
    losses, scales = [], []
    for _ in range(4):
        optimizer.zero_grad()
        with T.autocast("cpu", dtype=getattr(T, dtype)):
            scores = model(images)
            loss = T.nn.functional.cross_entropy(scores, labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
        scales.append(scaler.get_scale())
    kinds = [kind(scores), kind(loss), *[kind(p.grad) for p in model.parameters()]]
    return {
        "losses": losses,
        "scales": scales,
        "kinds": kinds,
        "size": sum((p**2).sum().item() for p in model.parameters()),
    }


def training_in_float16(T):
    return training(T, "float16")


def training_with_a_scaler(T):
    return training(T, "bfloat16", True)


def nested_regions(T):
    """The types of a product in regions inside regions."""
    a, b, found = T.ones(2, 2), T.ones(2, 2), []
    with T.autocast("cpu"):
        found.append(kind(a @ b))
        with T.autocast("cpu", enabled=False):
            found.append(kind(a @ b))
            with T.autocast("cpu", dtype=T.float16):
                found.append(kind(a @ b))
            found.append(kind(a @ b))
        found.append(kind(a @ b))
    found.append(kind(a @ b))
    try:
        with T.autocast("cpu"):
            raise KeyError
    except KeyError:
        found.append(T.is_autocast_enabled("cpu"))
    return found


def decorated(T):
    @T.autocast("cpu", dtype=T.float16)
    def product(a, b):
        return a @ b

    return [kind(product(T.ones(2, 2), T.ones(2, 2))), product.__name__, T.is_autocast_enabled("cpu")]


def state(T):
    """What the functions of the top level answer."""
    found = [T.is_autocast_enabled("cpu"), str(T.get_autocast_dtype("cpu")), str(T.get_autocast_dtype("cuda"))]
    with T.autocast("cpu", T.float16, cache_enabled=False):
        found += [T.is_autocast_enabled("cpu"), T.is_autocast_enabled("cuda"), T.is_autocast_enabled()]
        found += [str(T.get_autocast_dtype("cpu")), T.is_autocast_cache_enabled()]
    found += [T.is_autocast_cache_enabled(), T.autocast_increment_nesting(), T.autocast_decrement_nesting()]
    found += [T.amp.is_autocast_available(d) for d in ("cpu", "cuda", "mps", "meta")]
    return found


def errors(T):
    """Types and words of warnings and errors."""
    calls = [
        lambda: T.autocast("cpu", T.float32),
        lambda: T.autocast("cuda"),
        lambda: T.autocast(1),
        lambda: T.autocast("foo"),
        lambda: T.autocast("meta"),
        lambda: T.autocast("cpu")(3),
        lambda: T.amp.GradScaler(),
        lambda: T.cuda.amp.GradScaler(enabled=False),
        lambda: T.cuda.amp.autocast(enabled=False),
        lambda: T.cpu.amp.autocast(),
        lambda: T.cpu.amp.GradScaler(),
        lambda: T.amp.GradScaler("cpu", growth_factor=1.0),
        lambda: T.amp.GradScaler("cpu", backoff_factor=1.0),
        lambda: T.amp.GradScaler("cpu").load_state_dict({}),
        lambda: T.amp.GradScaler("cpu").update(),
        lambda: T.amp.GradScaler("cpu").scale(3),
        lambda: T.is_autocast_enabled(1),
        lambda: T.is_autocast_enabled("foo"),
        lambda: T.set_float32_matmul_precision("low"),
        lambda: T.amp.custom_fwd(device_type=1),
    ]
    return [_outcome(call) for call in calls]


def _outcome(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
            error = None
        except Exception as e:
            error = [type(e).__name__, str(e)]
    return [error, [[w.category.__name__, str(w.message).split(" (Triggered")[0]] for w in caught]]


def the_cache(T):
    """Whether a write to a parameter is seen inside the region, with and without the cache, and what its gradient is."""
    T.manual_seed(0)
    found = []
    for enabled in (True, False):
        layer, x = T.nn.Linear(3, 2), T.ones(4, 3)
        with T.autocast("cpu", cache_enabled=enabled):
            with T.no_grad():
                layer(x)
            a, b = layer(x), layer(x)
            with T.no_grad():
                layer.weight.add_(1.0)
            c = layer(x)
        found.append(T.equal(a, c))
        (a.float().sum() + b.float().sum()).backward()
        found += [kind(layer.weight.grad), layer.weight.grad.tolist(), layer.bias.grad.tolist()]
    return found


def the_scaler(T):
    """Scales, skipped steps and the parameter over gradients of which some overflow."""
    w = T.nn.Parameter(T.tensor([1.0, 2.0]))
    optimizer = T.optim.SGD([w], lr=0.1)
    scaler = T.amp.GradScaler("cpu", init_scale=8.0, growth_factor=4.0, backoff_factor=0.25, growth_interval=2)
    found = [scaler.get_scale(), scaler.state_dict()]
    for factor in (1.0, 2.0, float("inf"), 1.0, float("nan"), 3.0, 1.0):
        optimizer.zero_grad()
        scaler.scale((w * factor).sum()).backward()
        scaler.unscale_(optimizer)
        gradient = w.grad.tolist()
        scaler.step(optimizer)
        scaler.update()
        found.append([repr(gradient), w.tolist(), scaler.get_scale(), scaler._get_growth_tracker()])
    other = T.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    found += [other.state_dict(), [t.tolist() for t in other.scale([w, w * 2])]]
    other.update(16.0)
    found += [other.get_scale(), T.amp.GradScaler("cpu", enabled=False).state_dict()]
    return found


def the_scaler_out_of_turn(T):
    w = T.nn.Parameter(T.tensor([1.0]))
    optimizer = T.optim.SGD([w], lr=0.1)
    scaler = T.amp.GradScaler("cpu")
    found = [_outcome(lambda: scaler.unscale_(optimizer)), _outcome(lambda: scaler.step(optimizer))]
    scaler.scale(w.sum()).backward()
    scaler.unscale_(optimizer)
    found.append(_outcome(lambda: scaler.unscale_(optimizer)))
    scaler.step(optimizer)
    found += [_outcome(lambda: scaler.unscale_(optimizer)), _outcome(lambda: scaler.step(optimizer))]
    found.append(_outcome(lambda: scaler.step(optimizer, closure=lambda: None)))
    scaler.update()
    found.append(_outcome(scaler.update))
    w.grad = None
    found.append(_outcome(lambda: scaler.step(optimizer)))
    half = T.nn.Parameter(T.ones(1, dtype=T.float16))
    half.grad = T.ones(1, dtype=T.float16)
    found.append(_outcome(lambda: scaler.unscale_(T.optim.SGD([half], lr=0.1))))
    return found


def custom_functions(T):
    """The types that the two halves of a Function see, with and without cast_inputs, inside and outside a region."""
    seen = []

    def function(cast):
        class Product(T.autograd.Function):
            @staticmethod
            @T.amp.custom_fwd(device_type="cpu", cast_inputs=cast)
            def forward(ctx, a, b):
                seen.append([kind(a), kind(T.mm(a, b)), T.is_autocast_enabled("cpu")])
                ctx.save_for_backward(a, b)
                return T.mm(a, b)

            @staticmethod
            @T.amp.custom_bwd(device_type="cpu")
            def backward(ctx, g):
                a, b = ctx.saved_tensors
                seen.append([kind(g), kind(T.mm(a, b)), T.is_autocast_enabled("cpu")])
                return T.mm(g, b.to(g.dtype).t()), None

        return Product

    for cast in (None, T.float32):
        for enabled in (True, False):
            a, b = T.ones(2, 2, requires_grad=True), T.ones(2, 2)
            with T.autocast("cpu", enabled=enabled):
                out = function(cast).apply(a, b)
            out.float().sum().backward()
            seen.append([kind(out), kind(a.grad), a.grad.tolist()])
    return seen


def checkpoints(T):
    """A checkpointed part inside a region, run again outside of it: types during both runs, and the gradient."""
    found = []
    for reentrant in (True, False):
        T.manual_seed(0)
        layer, x, seen = T.nn.Linear(3, 2), T.ones(4, 3, requires_grad=True), []

        def part(t, layer=layer, seen=seen):
            r = layer(t)
            seen.append([kind(r), T.is_autocast_enabled("cpu")])
            return r.float().exp()

        with T.autocast("cpu"):
            out = T.utils.checkpoint.checkpoint(part, x, use_reentrant=reentrant)
        out.sum().backward()
        found.append([seen, kind(layer.weight.grad), layer.weight.grad.tolist(), x.grad.tolist()])
    return found


SCENARIOS = [
    training, training_in_float16, training_with_a_scaler, nested_regions, decorated, state, errors, the_cache,
    the_scaler, the_scaler_out_of_turn, custom_functions, checkpoints,
]  # fmt: skip


def main():
    import torch
    import torch.utils.checkpoint

    found = {scenario.__name__: scenario(torch) for scenario in SCENARIOS}
    rows = [f"{json.dumps(name)}: {json.dumps(answer)}" for name, answer in found.items()]
    Path(__file__).with_name("amp.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    main()
