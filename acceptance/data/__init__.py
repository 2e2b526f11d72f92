"""Small synthetic data in the formats that the programs read: seeded, and with structure, so that a loss can fall."""

import os

from acceptance.data.graphs import cora
from acceptance.data.images import (
    cifar10,
    cifar100,
    faces,
    fashion_mnist,
    image_folder,
    mnist,
    mnist_pickle,
    omniglot,
    omniglot_array,
    pictures,
)
from acceptance.data.tables import binary_images, electricity, tokens
from acceptance.data.text import characters, movie_lines, name_files, names, sentence_pairs, sentences


def folder(to):
    """An empty folder at `to`."""
    os.makedirs(to, exist_ok=True)


MAKERS = {
    maker.__name__: maker
    for maker in (
        binary_images,
        characters,
        cifar10,
        cifar100,
        cora,
        electricity,
        faces,
        fashion_mnist,
        folder,
        image_folder,
        mnist,
        mnist_pickle,
        movie_lines,
        name_files,
        names,
        omniglot,
        omniglot_array,
        pictures,
        sentence_pairs,
        sentences,
        tokens,
    )
}


def make(maker, to, **options):
    """Write the data of the maker of that name to `to` (a file or a folder, as the maker says)."""
    MAKERS[maker](to, **options)
