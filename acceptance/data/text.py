"""Text: characters as in a play, sentences as in an encyclopedia, names."""

import os

import numpy as np

_SYLLABLES = [
    "ba",
    "be",
    "bi",
    "bo",
    "da",
    "de",
    "di",
    "do",
    "fa",
    "fi",
    "ga",
    "go",
    "ha",
    "he",
    "ka",
    "ki",
    "la",
    "le",
    "li",
    "lo",
    "ma",
    "me",
    "mi",
    "mo",
    "na",
    "ne",
    "no",
    "pa",
    "po",
    "ra",
    "re",
    "ri",
    "ro",
    "sa",
    "se",
    "si",
    "so",
    "ta",
    "te",
    "ti",
    "to",
    "va",
    "ve",
    "wa",
    "we",
]


def characters(to, size=40_000, seed=0):
    """A play in `to`: speakers, lines, punctuation; every printable character of the usual sample text occurs."""
    rng = np.random.default_rng(seed)
    words = _words(rng, 300)
    speakers = [word.upper() for word in words[:12]]
    parts = ["O God, O God! &3$-;:?'\nABCDEFGHIJKLMNOPQRSTUVWXYZ abcdefghijklmnopqrstuvwxyz\n\n"]
    length = 0
    while length < size:
        lines = [" ".join(_phrase(rng, words)).capitalize() for _ in range(rng.integers(1, 4))]
        part = f"{speakers[rng.integers(12)]}:\n" + ",\n".join(lines) + rng.choice([".", "!", "?", ";"]) + "\n\n"
        parts.append(part)
        length += len(part)
    _write(to, "".join(parts))


def sentences(to, lines=400, vocabulary=500, seed=0):
    """Tokens separated by spaces in `to`, a sentence a line, headings between ' = ', as in WikiText."""
    rng = np.random.default_rng(seed)
    words = _words(rng, vocabulary)
    text = []
    for i in range(lines):
        if i % 20 == 0:
            text.append(f" = {words[i % len(words)].capitalize()} = ")
        text.append(" " + " ".join([*_phrase(rng, words), ",", *_phrase(rng, words), "."]) + " ")
    _write(to, "\n".join(text) + "\n")


def names(to, count=2000, seed=0):
    """One lower-case name a line in `to`, all different."""
    rng = np.random.default_rng(seed)
    found = {}
    while len(found) < count:
        found["".join(rng.choice(_SYLLABLES, rng.integers(1, 4))) + rng.choice(["", "n", "r", "s", "x"])] = None
    _write(to, "\n".join(found) + "\n")


def _words(rng, count):
    found = {}
    while len(found) < count:
        found["".join(rng.choice(_SYLLABLES, rng.integers(1, 4)))] = None
    return list(found)


def _phrase(rng, words):
    """Words in which each is likely to be followed by its neighbour in the list."""
    at = int(len(words) * rng.random() ** 2)
    phrase = []
    for _ in range(rng.integers(4, 10)):
        phrase.append(words[at])
        at = (at + 1) % len(words) if rng.random() < 0.7 else int(len(words) * rng.random() ** 2)
    return phrase


def _write(to, text):
    os.makedirs(os.path.dirname(to) or ".", exist_ok=True)
    with open(to, "w") as file:
        file.write(text)
