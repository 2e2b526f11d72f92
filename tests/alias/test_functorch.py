"""`import functorch`, which torch still brings: modules as functions, its transforms with their warning."""

PROGRAM = """
import functorch, torch, warnings
from functorch import combine_state_for_ensemble, grad, make_functional, make_functional_with_buffers, vmap
warnings.simplefilter("ignore", FutureWarning)
x, model, norm = torch.ones(4, 3), torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(3)
f, params = make_functional(model)
print(functorch.__version__ == torch.__version__, (f(params, x) == model(x)).all().item(), params[0] is model.weight)
print([t.tolist() for t in grad(lambda p, x: f(p, x).sum())(params, x)], len(list(f.parameters())))
f, params, buffers = make_functional_with_buffers(norm, disable_autograd_tracking=True)
print(f(params, buffers, x).shape, len(buffers), params[0].requires_grad)
f, params, buffers = combine_state_for_ensemble([torch.nn.Linear(3, 2) for _ in range(5)])
print(vmap(f, (0, 0, None))(params, buffers, x).shape)
for wrong in (lambda: make_functional(norm), lambda: functorch.nope):
    try: wrong()
    except (RuntimeError, AttributeError) as error: print(str(error)[:60])
warnings.simplefilter("error")
try: vmap(torch.sin)(x)
except FutureWarning as warning: print("`torch.vmap` instead" in str(warning))
"""
PRINTED = """\
True True False
[[[4.0, 4.0, 4.0], [4.0, 4.0, 4.0]], [4.0, 4.0]] 2
torch.Size([4, 3]) 3 False
torch.Size([5, 4, 2])
make_functional(model): `model` has buffers. Please use make
module 'functorch' has no attribute 'nope'
True
"""


def test_functorch(program):
    done = program.run(program.write("script.py", PROGRAM))
    assert (done.stdout, done.returncode) == (PRINTED, 0), done.stderr


def test_functorch_before_torch_in_a_child(program):
    child = "import functorch, torch; print(functorch.vmap.__name__, torch.__version__)"
    script = program.write("script.py", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])")
    done = program.run(script)
    assert done.stdout.startswith("vmap 2.13.0+rushlight"), done.stderr
