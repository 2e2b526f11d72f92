"""Text: characters as in a play, sentences as in an encyclopedia, names."""

import json
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


def name_files(to, languages=("Chinese", "German", "Russian", "Spanish"), count=60, seed=0):
    """`to`/<language>.txt: capitalised names, one a line; each language prefers syllables of its own."""
    rng = np.random.default_rng(seed)
    for language in languages:
        likely = rng.permutation(_SYLLABLES)[:12]
        found = {}
        while len(found) < count:
            found["".join(rng.choice(likely, rng.integers(1, 4))).capitalize()] = None
        _write(os.path.join(to, f"{language}.txt"), "\n".join(found) + "\n")


def sentence_pairs(to, lines=200, also=(), seed=0):
    """Pairs of an English and a French sentence, separated by a tab, in `to`; `also`: further French ones."""
    rng = np.random.default_rng(seed)
    words = _words(rng, 60)
    english = dict(zip(words, _words(rng, 60)))
    starts = (("I am", "je suis"), ("you are", "tu es"), ("he is", "il est"), ("we are", "nous sommes"))
    rows = [f"I am {' '.join(_phrase(rng, words)[:4])}.\t{french}." for french in also]
    for _ in range(lines - len(also)):
        first, second = starts[rng.integers(len(starts))]
        phrase = _phrase(rng, words)[:5]
        rows.append(f"{first} {' '.join(english[word] for word in phrase)}.\t{second} {' '.join(phrase)}.")
    _write(to, "\n".join(rows) + "\n")


def movie_lines(to, conversations=60, seed=0):
    """Talk in films, one JSON object a line in `to`, the last line of a talk first, as in the Cornell corpus."""
    rng = np.random.default_rng(seed)
    words, rows = _words(rng, 40), []
    for conversation in range(conversations):
        said = [" ".join(_phrase(rng, words)[:6]).capitalize() + rng.choice([".", "?", "!"]) for _ in range(3)]
        for number, text in reversed(list(enumerate(said))):
            line = {"id": f"L{conversation}_{number}", "conversation_id": f"L{conversation}_0", "text": text}
            rows.append(json.dumps({**line, "speaker": f"u{number % 2}", "meta": {"movie_id": f"m{conversation % 5}"}}))
    _write(to, "\n".join(rows) + "\n")


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
