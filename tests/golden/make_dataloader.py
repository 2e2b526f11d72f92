"""What torch's DataLoader hands out: order of samples, worker seeds, and the three generators of each worker.

Run with torch installed: python tests/golden/make_dataloader.py. The tests replay `CASES` through `outcome`.
"""

import itertools
import json
import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np

SAMPLES = 11


def dataset(torch):
    class Draws(torch.utils.data.Dataset):
        """Sample i: i, one number of each generator, and the worker's seed."""

        def __len__(self):
            return SAMPLES

        def __getitem__(self, index):
            worker = torch.utils.data.get_worker_info()
            seed = -1 if worker is None else worker.seed
            return index, torch.rand(1), random.random(), np.random.rand(1), seed

    return Draws()


def stream(torch, sharded):
    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            worker = torch.utils.data.get_worker_info()
            first, step = (worker.id, worker.num_workers) if worker and sharded else (0, 1)
            return iter([(i, torch.rand(1)) for i in range(first, SAMPLES, step)])

    return Stream()


class EagerSampler:
    """Draws its permutation in __iter__, at once."""

    def __init__(self, torch):
        self.torch = torch

    def __len__(self):
        return SAMPLES

    def __iter__(self):
        return iter(self.torch.randperm(SAMPLES).tolist())


WEIGHTS = [i + 1 for i in range(SAMPLES)]

SAMPLERS = {
    "eager": EagerSampler,
    "subset": lambda torch: torch.utils.data.SubsetRandomSampler(range(0, SAMPLES, 2)),
    "weighted": lambda torch: torch.utils.data.WeightedRandomSampler(WEIGHTS, 9, True),
    "weighted once": lambda torch: torch.utils.data.WeightedRandomSampler(WEIGHTS, 9, False),
    "replacement": lambda torch: torch.utils.data.RandomSampler(range(SAMPLES), replacement=True, num_samples=70),
    "few": lambda torch: torch.utils.data.RandomSampler(range(SAMPLES), num_samples=5),
    "many": lambda torch: torch.utils.data.RandomSampler(range(SAMPLES), num_samples=25),
}


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(member) for member in value]
    return value.tolist() if hasattr(value, "tolist") else value


def outcome(torch, case):
    """Batches of three epochs, and the default generator's next number."""
    case = SimpleNamespace(**case)
    arguments = dict(case.arguments)
    torch.manual_seed(5), random.seed(1), np.random.seed(1)
    if case.generator is not None:
        arguments["generator"] = torch.Generator().manual_seed(case.generator)
    if case.sampler is not None:
        arguments["sampler"] = SAMPLERS[case.sampler](torch)
    source = {"map": dataset, "stream": lambda t: stream(t, False), "shards": lambda t: stream(t, True)}
    loader = torch.utils.data.DataLoader(source[case.dataset](torch), **arguments)
    batches = []
    for epoch in range(3):
        for number, batch in enumerate(loader):
            batches.append(plain(batch))
            if case.leaves_early and (epoch, number) == (0, 1):
                break
    return {"batches": batches, "next": torch.rand(1).item()}


def split_outcome(torch, case):
    torch.manual_seed(3)
    generators = [torch.Generator().manual_seed(1)] if case["generator"] else []
    parts = torch.utils.data.random_split(range(case["total"]), case["lengths"], *generators)
    return [list(part.indices) for part in parts]


def distributed_outcome(torch, case):
    sampler = torch.utils.data.DistributedSampler(range(case["total"]), **case["arguments"])
    sampler.set_epoch(2)
    return list(sampler)


def make_case(dataset="map", sampler=None, generator=None, leaves_early=False, **arguments):
    own = {"dataset": dataset, "sampler": sampler, "generator": generator, "leaves_early": leaves_early}
    return {**own, "arguments": arguments}


CASES = [
    *(
        make_case(shuffle=s, num_workers=w, drop_last=d, batch_size=4, generator=g)
        for s, w, d, g in itertools.product((False, True), (0, 1, 2), (False, True), (None, 7))
    ),
    *(
        make_case(shuffle=True, num_workers=2, batch_size=2, persistent_workers=p, leaves_early=e, prefetch_factor=f)
        for p, e, f in itertools.product((False, True), (False, True), (None, 3))
    ),
    *(make_case(sampler=s, num_workers=w, batch_size=3) for s in SAMPLERS for w in (0, 2)),
    *(make_case(sampler="eager", num_workers=w, batch_size=None) for w in (0, 2)),
    *(make_case(shuffle=True, num_workers=w, batch_size=None, generator=3) for w in (0, 2)),
    *(
        make_case(dataset=d, num_workers=w, batch_size=b, persistent_workers=p and w > 0)
        for d, w, b, p in itertools.product(("stream", "shards"), (0, 1, 2), (None, 4), (False, True))
        if w or not p
    ),
    make_case(dataset="shards", num_workers=2, batch_size=4, drop_last=True),
]

SPLITS = [
    {"total": total, "lengths": lengths, "generator": generator}
    for total, lengths in ((10, [3, 7]), (30, [0.3, 0.3, 0.4]), (11, [0.5, 0.5]), (10, [0.25] * 4), (5, [0, 5]))
    for generator in (False, True)
]

DISTRIBUTED = [
    {"total": total, "arguments": {"num_replicas": n, "rank": rank, "shuffle": s, "seed": 3, "drop_last": d}}
    for total, n in ((10, 4), (11, 2), (2, 5), (12, 3))
    for rank in {0, n - 1}
    for s, d in itertools.product((False, True), (False, True))
]


def main():
    import torch

    golden = {
        "cases": [{"case": case, "outcome": outcome(torch, case)} for case in CASES],
        "splits": [{"case": case, "outcome": split_outcome(torch, case)} for case in SPLITS],
        "distributed": [{"case": case, "outcome": distributed_outcome(torch, case)} for case in DISTRIBUTED],
    }
    lines = [f'"{name}": [\n' + ",\n".join(map(json.dumps, rows)) + "\n]" for name, rows in golden.items()]
    Path(__file__).with_name("dataloader.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
