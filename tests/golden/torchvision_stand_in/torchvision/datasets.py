"""CIFAR10 from an archive whose address is its path."""

import os
import pickle
import tarfile

import numpy as np
from PIL import Image


class CIFAR10:
    def __init__(self, root, train=True, transform=None, download=False):
        folder = os.path.join(root, "cifar-10-batches-py")
        if not os.path.isdir(folder):
            with tarfile.open(self.url) as tar:
                tar.extractall(root, filter="data")
        batches = []
        for name, _ in self.train_list if train else self.test_list:
            with open(os.path.join(folder, name), "rb") as file:
                batches.append(pickle.load(file, encoding="latin1"))
        self.data = np.concatenate([batch["data"] for batch in batches]).reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
        self.targets = [label for batch in batches for label in batch["labels"]]
        self.transform = transform

    def __len__(self):
        return len(self.data)

    def __getitem__(self, index):
        return self.transform(Image.fromarray(np.ascontiguousarray(self.data[index]))), self.targets[index]
