"""Data sets, samplers, loaders, saving and loading."""

THEMES = {"loaders", "checkpoints", "sparse_and_other"}


def loaders(p):
    p.do("from torch.utils import data")
    p.do("ds = data.TensorDataset(torch.arange({10|7|20}), torch.randn({10|7|20}, 2))")
    for _ in range(3):
        p.do(
            p.choice(
                "ds = data.TensorDataset(torch.arange(9), torch.arange(9) * 2.)",
                "ds = data.Subset(ds, [0, 2, {1|-1|5}])",
                "ds = data.ConcatDataset([ds, ds])",
                "ds = data.random_split(ds, [{0.5, 0.5|0.3, 0.7|3, 4|1, 6}])[0]",
                "ds = list(range({10|5}))",
                "ds = [⟨'a': i, 'b': torch.ones(2) * i⟩ for i in range(6)]",
                "ds = [(np.array([i]), float(i), 's') for i in range(5)]",
                "len(ds)",
                "ds[{0|-1|3|100}]",
            )
        )
        if not p.do(
            "l = data.DataLoader(ds, batch_size={1|2|3|4|None}, shuffle={bool}, drop_last={bool}{||, num_workers=0|, generator=torch.Generator().manual_seed(3)|, sampler=data.SequentialSampler(ds)|, collate_fn=lambda b: len(b)|, sampler=data.SubsetRandomSampler([0, 1, 2])|, sampler=data.WeightedRandomSampler([1., 2., 3.], 4)|, batch_sampler=data.BatchSampler(data.RandomSampler(ds), 2, False)})"
        ):
            continue
        p.do("len(l)")
        p.do("list(l)")
        p.do(
            p.choice(
                "next(iter(l))",
                "list(l)",
                "torch.rand(2)",
                "l.batch_size",
                "[b for b, _ in zip(l, range(2))]",
                "type(l.sampler).__name__",
            )
        )
        p.do("torch.rand(1)")
    p.do(
        "data.default_collate([{1, 2|1., 2.|'a', 'b'|(1, 2), (3, 4)|torch.ones(2), torch.zeros(2)|⟨'a': 1⟩, ⟨'a': 2⟩|[1, 2], [3, 4]|torch.ones(2), torch.zeros(3)|np.float32(1), np.float32(2)|None, None}])"
    )
    p.do(
        "list(data.{SequentialSampler(range(3))|RandomSampler(range(5))|RandomSampler(range(3), replacement=True, num_samples=5)|SubsetRandomSampler([3, 4])|WeightedRandomSampler([0.1, 0.9], 5)|BatchSampler(range(7), 3, False)|BatchSampler(range(7), 3, True)})"
    )


def checkpoints(p):
    """What one framework saves the other loads: the file of each is loaded by both (`__main__.py`)."""
    for i in range(4):
        name = p.let(
            p.choice(
                "{x}",
                "[{x}, {f}[None], {x}]",
                "nn.{Linear(2, 3)|Conv2d(1, 2, 3)|BatchNorm1d(3)|LSTM(2, 3)|Sequential(nn.Linear(2, 2), nn.ReLU())}.state_dict()",
                "⟨'epoch': {n}, 'loss': {num}, 't': {x}, 'name': 'a', 'list': [1, (2, 3)]⟩",
                "(torch.arange(6.).view(2, 3).t(), torch.arange(6.)[2:4])",
                "nn.Parameter({f}.detach())",
                "torch.randn(3, 4)[:, 1:3]",
                "torch.optim.{Adam|SGD}([nn.Parameter(torch.ones(2))], lr=0.1).state_dict()",
                "{x}.to({dtype})",
                "torch.Size([1, 2])",
                "torch.{float32|int64|bfloat16}",
                "(torch.ones(2), None, True, 3.5, 'x', b'y', ⟨1, 2⟩)",
                "torch.eye(3).to_sparse()",
            ),
            "v",
        )
        if name and p.do(f"save({name}, 'f{i}.pt'{{||, _use_new_zipfile_serialization=False}})"):
            p.do(f"load('f{i}.pt')")
            p.do(f"load('f{i}.pt', weights_only={{bool}}, map_location={{None|'cpu'}})")


def sparse_and_other(p):
    p.some(["torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.tensor([3., 4., 5.]), ({2|3}, 3))", "{m}.to_sparse()", "{m}.to_sparse().{coalesce()|indices()|values()|to_dense()|t()|_nnz()|sum()|is_sparse|shape|layout}", "torch.sparse.mm({m}.to_sparse(), torch.randn({n}, 2))", "torch.sparse.mm(torch.eye(3).to_sparse(), torch.randn(3, 2))", "torch.eye(3).to_sparse() {+|*} torch.eye(3).to_sparse()", "torch.eye(3).to_sparse() * {num}", "torch.sparse.sum(torch.eye(3).to_sparse(), {0|1})", "torch.eye({n}).to_sparse_csr().{crow_indices()|col_indices()|values()|to_dense()}", "torch.eye(3).to_sparse_csr() @ torch.randn(3, 2)", "repr(torch.eye(2).to_sparse())", "torch.utils.dlpack.from_dlpack(torch.arange(3))", "torch.isclose({f}, {same})", "torch.overrides.is_tensor_like({x})", "torch.is_tensor({x})", "torch.numel({x})", "torch.get_default_dtype()", "torch.finfo({fdtype}).eps", "torch.Size([2, 3]).numel()", "torch.typename({x})", "torch.nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)).weight", "torch.nn.utils.{weight_norm|spectral_norm}(nn.Linear(2, 2))(torch.ones(1, 2))", "torch.nn.utils.rnn.pad_sequence([torch.ones(2), torch.ones(3)])", "torch.nn.utils.vector_to_parameters(torch.ones(3), [nn.Parameter(torch.zeros(3))])", "torch.utils.checkpoint.checkpoint(lambda v: v.sin(), {r}, use_reentrant={bool})", "torch.equal({x}, {x})", "torch.device('{cpu|cuda|cuda:0|foo}')", "{x}.device", "torch.tensor({num}).item()", "torch.as_tensor({x}).data_ptr() == 0", "torch.nn.functional.one_hot(torch.arange({n}))"], 9)  # fmt: skip
