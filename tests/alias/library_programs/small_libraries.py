"""einops, safetensors, torchdiffeq, x-transformers, vector-quantize-pytorch, PyTorch Geometric, PEFT, Accelerate: a case or two each."""

import tempfile
from pathlib import Path

import fixed
import torch
from torch import nn
from torch.nn import functional as F


def einops():
    """Patterns, layers, einsum and packing, through a gradient."""
    from einops import einsum, pack, rearrange, reduce, repeat, unpack
    from einops.layers.torch import EinMix, Rearrange, Reduce

    torch.manual_seed(0)
    model = nn.Sequential(
        Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4),
        EinMix("b n i -> b n o", weight_shape="i o", bias_shape="o", i=48, o=16),
        nn.GELU(),
        Reduce("b n o -> b o", "mean"),
        nn.Linear(16, 3),
    )
    images, labels = fixed.numbers(2, 3, 16, 16), torch.tensor([0, 2])
    losses = fixed.steps(model, lambda m: F.cross_entropy(m(images), labels))
    x = fixed.numbers(2, 3, 4)
    packed, shapes = pack([x, x[:, 0]], "b * c")
    parts = unpack(packed, shapes, "b * c")
    values = [
        rearrange(x, "a b c -> c (a b)"), reduce(x, "a b c -> b", "max"), repeat(x, "a b c -> a (2 b) c"),
        einsum(x, x, "a b c, a d c -> b d"), packed, *parts,
    ]  # fmt: skip
    return {"losses": losses, "sums": [v.abs().sum().item() for v in values], "shapes": [list(v.shape) for v in values]}


def safetensors():
    """A file written and read again, a whole model's too."""
    from safetensors import safe_open
    from safetensors.torch import load, load_file, load_model, save, save_file, save_model

    with tempfile.TemporaryDirectory() as folder:
        tensors = {
            "a": fixed.numbers(3, 4),
            "b": fixed.whole_numbers(5, below=9),
            "c": fixed.numbers(2).bfloat16(),
            "d": torch.tensor([True, False]),
        }
        save_file(tensors, Path(folder) / "x.safetensors", metadata={"made": "here"})
        again = load_file(Path(folder) / "x.safetensors")
        with safe_open(Path(folder) / "x.safetensors", "pt") as file:
            part, facts, names = file.get_slice("a")[1:, :2], file.metadata(), sorted(file.keys())
        model, other = fixed.fill(nn.Linear(4, 2)), nn.Linear(4, 2)
        save_model(model, f"{folder}/m.safetensors")
        load_model(other, f"{folder}/m.safetensors")
    through = load(save(tensors))
    return {
        "equal": [torch.equal(tensors[k], again[k]) and tensors[k].dtype == again[k].dtype for k in tensors],
        "bytes": [torch.equal(tensors[k], through[k]) for k in tensors],
        "slice": part.flatten().tolist(), "facts": list(facts.items()) + names,
        "model": torch.equal(model.weight, other.weight),
    }  # fmt: skip


def torchdiffeq():
    """A neural ODE: its solutions by several methods, and the gradient through the solver and by the adjoint."""
    from torchdiffeq import odeint, odeint_adjoint

    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = fixed.fill(nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2)))

        def forward(self, t, y):
            return self.net(y**3)

    start, times = torch.tensor([[2.0, 0.0]]), torch.linspace(0, 1, 5)
    found = {}
    for method in ("dopri5", "rk4", "euler", "dopri8", "adaptive_heun"):
        for solve in (odeint, odeint_adjoint):
            field = Field()
            end = solve(field, start, times, method=method)
            end.pow(2).mean().backward()
            gradient = sum(p.grad.pow(2).sum().item() for p in field.parameters())
            found[f"{method} {solve.__name__}"] = [*end[-1].flatten().tolist(), gradient]
    return found


def x_transformers():
    """A decoder with rotary positions, and generation."""
    from x_transformers import AutoregressiveWrapper, Decoder, Encoder, TransformerWrapper, ViTransformerWrapper

    ids = fixed.whole_numbers(2, 16, below=32)

    def decoder(**options):
        layers = Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, **options)
        return AutoregressiveWrapper(TransformerWrapper(num_tokens=32, max_seq_len=16, attn_layers=layers))

    found = {
        "plain": fixed.both(decoder, lambda m: m(ids)),
        "rotary": fixed.both(
            lambda: decoder(rotary_pos_emb=True, ff_glu=True, use_rmsnorm=True, attn_flash=True), lambda m: m(ids)
        ),
        "alibi": fixed.both(lambda: decoder(alibi_pos_bias=True, attn_qk_norm=True), lambda m: m(ids)),
    }
    image = ViTransformerWrapper(
        image_size=16, patch_size=4, num_classes=3, attn_layers=Encoder(dim=32, depth=1, heads=2)
    )
    found["image"] = fixed.fill(image)(fixed.numbers(2, 3, 16, 16)).flatten().tolist()
    model = fixed.fill(decoder()).eval()
    found["generated"] = model.generate(ids[:, :4], 6, temperature=0.0).flatten().tolist()
    return found


def vector_quantize():
    """Codebooks by k-means and moving averages, residual, finite-scalar and lookup-free."""
    from vector_quantize_pytorch import FSQ, LFQ, ResidualVQ, VectorQuantize

    x = fixed.numbers(2, 16, 8)
    found = {}
    kinds = {
        "vq": lambda: VectorQuantize(dim=8, codebook_size=12, decay=0.8, commitment_weight=1.0),
        "cosine": lambda: VectorQuantize(
            dim=8, codebook_size=12, use_cosine_sim=True, kmeans_init=True, kmeans_iters=3
        ),
        "rotation": lambda: VectorQuantize(dim=8, codebook_size=12, rotation_trick=True),
        "residual": lambda: ResidualVQ(dim=8, codebook_size=12, num_quantizers=2),
        "fsq": lambda: FSQ(levels=[4, 3, 3], dim=8),
        "lfq": lambda: LFQ(codebook_size=16, dim=8, entropy_loss_weight=0.1),
    }
    for name, make in kinds.items():
        torch.manual_seed(0)
        layer = make()
        values = []
        for _ in range(3):
            given = x.clone().requires_grad_()
            quantized, indices, *losses = layer(given)
            (quantized.pow(2).mean() + sum(loss.sum() for loss in losses[:1] if torch.is_tensor(loss))).backward()
            values += [quantized.sum().item(), indices.float().mean().item(), given.grad.norm().item()]
        found[name] = values
    return found


def geometric():
    """Graph layers on a small graph, each three steps; batches and pooling."""
    from torch_geometric import nn as gnn
    from torch_geometric.data import Data
    from torch_geometric.loader import DataLoader
    from torch_geometric.utils import add_self_loops, degree, to_dense_adj

    edges = torch.stack([fixed.whole_numbers(30, below=10), fixed.whole_numbers(30, below=10, phase=91)])
    x, y = fixed.numbers(10, 6), fixed.whole_numbers(10, below=3)
    layers = {
        "GCNConv": lambda a, b: gnn.GCNConv(a, b),
        "SAGEConv": lambda a, b: gnn.SAGEConv(a, b),
        "GATConv": lambda a, b: gnn.GATConv(a, b, heads=2, concat=False),
        "GATv2Conv": lambda a, b: gnn.GATv2Conv(a, b, heads=2, concat=False),
        "GINConv": lambda a, b: gnn.GINConv(nn.Linear(a, b)),
        "ChebConv": lambda a, b: gnn.ChebConv(a, b, K=2),
        "TransformerConv": lambda a, b: gnn.TransformerConv(a, b),
        "GraphConv": lambda a, b: gnn.GraphConv(a, b),
    }
    found = {}
    for name, layer in layers.items():
        torch.manual_seed(0)
        model = gnn.Sequential("x, e", [(layer(6, 8), "x, e -> x"), nn.ReLU(), (layer(8, 3), "x, e -> x")])
        found[name] = fixed.steps(model, lambda m: F.cross_entropy(m(x, edges), y))
    graphs = [
        Data(x=fixed.numbers(n, 6, phase=n), edge_index=edges[:, : 2 * n] % n, y=torch.tensor([n % 3]))
        for n in (4, 5, 6, 7)
    ]
    torch.manual_seed(0)
    pooled = []
    for batch in DataLoader(graphs, batch_size=2, shuffle=True):
        for pool in (gnn.global_mean_pool, gnn.global_max_pool, gnn.global_add_pool):
            pooled.append(pool(batch.x, batch.batch).sum().item())
    found["pooled"] = pooled
    found["graph"] = [
        degree(edges[0], 10).sum().item(),
        to_dense_adj(edges).sum().item(),
        add_self_loops(edges)[0].shape[1],
    ]
    return found


def peft():
    """LoRA over GPT-2: three steps, its parameters counted, merged, saved and loaded."""
    import transformers
    from peft import LoraConfig, PeftModel, get_peft_model

    ids = fixed.whole_numbers(2, 12, below=96)

    def base():
        config = transformers.GPT2Config(vocab_size=96, n_positions=40, n_embd=32, n_layer=2, n_head=4)
        return fixed.fill(transformers.GPT2LMHeadModel(config))

    torch.manual_seed(0)
    model = get_peft_model(
        base(), LoraConfig(task_type="CAUSAL_LM", r=4, lora_alpha=8, target_modules=["c_attn"], fan_in_fan_out=True)
    )
    wanted = [p for p in model.parameters() if p.requires_grad]
    losses = fixed.steps(model, lambda m: m(input_ids=ids, labels=ids).loss, torch.optim.AdamW(wanted, 1e-2))
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        again = PeftModel.from_pretrained(base(), folder).eval()
        loaded = again(input_ids=ids, labels=ids).loss.item()
    merged = model.merge_and_unload().eval()(input_ids=ids, labels=ids).loss.item()
    return [*losses, *map(float, model.get_nb_trainable_parameters()), loaded, merged]


def accelerate():
    """A loop with accumulation, clipping, gathered metrics and a saved state."""
    from accelerate import Accelerator
    from accelerate.utils import set_seed

    set_seed(1)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.1), nn.Linear(8, 3))
    data = torch.utils.data.TensorDataset(fixed.numbers(24, 6), fixed.whole_numbers(24, below=3))
    loader = torch.utils.data.DataLoader(data, 4, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=4)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    losses = []
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = F.cross_entropy(model(x), y)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                losses.append(accelerator.clip_grad_norm_(model.parameters(), 1.0).item())
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        losses.append(accelerator.gather_for_metrics(loss).mean().item())
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        before = model[0].weight.clone()
        nn.init.zeros_(model[0].weight)
        accelerator.load_state(folder)
    return [*losses, torch.equal(before, accelerator.unwrap_model(model)[0].weight)]


def trainer():
    """transformers' Trainer: steps, evaluation, a checkpoint, and going on from it."""
    import transformers

    class Lines(torch.utils.data.Dataset):
        def __len__(self):
            return 16

        def __getitem__(self, i):
            ids = fixed.whole_numbers(10, below=96, phase=7 * i)
            return {"input_ids": ids, "labels": ids}

    def train(folder, steps, resume=None):
        transformers.set_seed(11)
        config = transformers.GPT2Config(vocab_size=96, n_positions=40, n_embd=32, n_layer=2, n_head=4)
        arguments = transformers.TrainingArguments(
            folder, max_steps=steps, per_device_train_batch_size=4, per_device_eval_batch_size=8, logging_steps=1, save_steps=3,
            eval_strategy="steps", eval_steps=3, learning_rate=1e-3, report_to=[], use_cpu=True, disable_tqdm=True,
            dataloader_pin_memory=False,
        )  # fmt: skip
        made = transformers.Trainer(
            transformers.GPT2LMHeadModel(config), arguments, train_dataset=Lines(), eval_dataset=Lines()
        )
        made.train(resume_from_checkpoint=resume)
        log = made.state.log_history
        return [row[key] for row in log for key in ("loss", "grad_norm", "learning_rate", "eval_loss") if key in row]

    with tempfile.TemporaryDirectory() as folder:
        return [train(folder, 6), train(folder, 8, f"{folder}/checkpoint-6")]


fixed.main(
    {
        f.__name__: f
        for f in (
            einops,
            safetensors,
            torchdiffeq,
            x_transformers,
            vector_quantize,
            geometric,
            peft,
            accelerate,
            trainer,
        )
    }
)
