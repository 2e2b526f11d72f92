"""The Cora citation graph's files."""

import io
import os
import tarfile

import numpy as np

_SUBJECTS = (
    "Case_Based",
    "Genetic_Algorithms",
    "Neural_Networks",
    "Probabilistic_Methods",
    "Reinforcement_Learning",
    "Rule_Learning",
    "Theory",
)


def cora(to, nodes=2708, words=1433, edges=5429, tgz="", seed=0):
    """`to`/cora.content and `to`/cora.cites; tgz: also an archive of that name that holds them as cora/....

    Papers of one subject share words and cite each other more often.
    """
    rng = np.random.default_rng(seed)
    subject = rng.integers(0, 7, nodes)
    likely = rng.random((7, words)) ** 8
    has = rng.random((nodes, words)) < likely[subject] * 0.12
    number = rng.permutation(np.arange(31336, 31336 + 3 * nodes))[:nodes]
    rows = ["\t".join([str(number[i]), *map(str, has[i].astype(int)), _SUBJECTS[subject[i]]]) for i in range(nodes)]
    pairs = {}
    while len(pairs) < edges:
        cited = rng.integers(nodes)
        peers = np.flatnonzero(subject == subject[cited]) if rng.random() < 0.8 else np.arange(nodes)
        citing = rng.choice(peers)
        if citing != cited:
            pairs[(number[cited], number[citing])] = None
    cites = [f"{a}\t{b}" for a, b in pairs]
    files = {"cora.content": "\n".join(rows) + "\n", "cora.cites": "\n".join(cites) + "\n"}
    os.makedirs(to, exist_ok=True)
    for name, text in files.items():
        with open(os.path.join(to, name), "w") as file:
            file.write(text)
    if tgz:
        _archive(os.path.join(to, tgz), files)


def _archive(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(f"cora/{name}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
