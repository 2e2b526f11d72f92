"""The manifest is well formed, and says so where it is not."""

import pytest

from acceptance import manifest

PROGRAMS = manifest.load()
COMMIT = "0" * 40


def test_waves_have_the_programs_that_were_chosen():
    counts = {wave: sum(p.wave == wave for p in PROGRAMS.values()) for wave in manifest.WAVES}
    assert counts == {"1": 31, "2": 44, "3": 94, "spare": 13}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda p: p.id)
def test_an_entry_has_no_problems_and_its_runs_have_names_of_their_own(program):
    assert list(manifest.problems(program)) == []
    names = [entry.name for entry in program.runs()]
    assert len(set(names)) == len(names)
    assert all("{" not in command for entry in program.runs() for command in entry.commands)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('repository = "a"', "not owner/name"),
        ('commit = "12"', "40 hexadecimal digits"),
        ("commands = []", "no commands"),
        ('commands = ["a.py {variant}"]', "variants are listed"),
        ('variants = ["x"]', "variants are listed"),
        ('copy = ["../elsewhere"]', "leaves the program's folder"),
        ('data = [{ maker = "nothing", to = "x" }]', "no data maker 'nothing'"),
        ('data = [{ maker = "mnist" }]', "without a place"),
        ('patches = ["luck"]', "unknown patch"),
        ('shims = ["numpy"]', "unknown shim"),
        ('edits = [{ file = "a.py" }]', "has file, old and new"),
        ('commands = ["a.py {variant}"]\nvariants = ["x"]\nundetermined = ["x"]', "without a reason"),
        ('undetermined = ["x"]', "'x' is no variant"),
        ('settings = { "--lr 1" = "2" }', "in no command"),
        ("stepz = 3", "stepz"),
    ],
)
def test_a_bad_entry_is_refused_by_name(entry, message, tmp_path):
    fields = {"repository": '"a/b"', "commit": f'"{COMMIT}"', "what": '"x"', "commands": '["a.py"]'}
    fields.pop(entry.partition(" =")[0], None)
    text = "\n".join(["[one]", *(f"{key} = {value}" for key, value in fields.items()), entry])
    (tmp_path / "wave_1.toml").write_text(text)
    with pytest.raises(ValueError, match=f"wave_1.toml: one: .*{message}"):
        manifest.load(tmp_path)


@pytest.mark.parametrize(
    ("names", "waves", "chosen"),
    [
        (["makemore/mlp"], (), ["makemore/mlp"]),
        (["makemore/gru", "vqvae", "makemore/mlp"], (), ["makemore/mlp", "makemore/gru", "vqvae"]),
        (["ode_demo/default"], (), ["ode_demo/default"]),
        (["nlp_transformer"], (), ["nlp_transformer/Transformer.py", "nlp_transformer/Transformer(Greedy_decoder).py"]),
        (["nlp_transformer", "vqvae"], ["2"], ["vqvae"]),
    ],
)
def test_select_by_program_variant_and_wave(names, waves, chosen):
    assert [entry.name for entry in manifest.select(PROGRAMS, names, waves)] == chosen


def test_everything_is_selected_where_nothing_is_named():
    assert {entry.program.id for entry in manifest.select(PROGRAMS)} == set(PROGRAMS)
    assert {entry.program.wave for entry in manifest.select(PROGRAMS, waves=["2"])} == {"2"}


@pytest.mark.parametrize(
    ("names", "waves", "message"),
    [
        (["nothing"], (), "no program 'nothing' in the manifest"),
        (["vqvae/gru"], (), "vqvae has no variants"),
        (
            ["vqvae", "ode_demo/x"],
            (),
            "no program 'ode_demo/x' in the manifest; there are ode_demo/default, ode_demo/--adj",
        ),
        (["vqvae"], ["1"], "none of vqvae is in wave 1"),
    ],
)
def test_a_name_that_matches_nothing_is_an_error(names, waves, message):
    with pytest.raises(KeyError, match=message):
        manifest.select(PROGRAMS, names, waves)


def test_only_the_variants_named_are_undetermined():
    determined = {entry.name: entry.deterministic for entry in PROGRAMS["ex_mnist_hogwild"].runs()}
    assert determined == {"ex_mnist_hogwild/1": True, "ex_mnist_hogwild/2": False}


def test_a_tutorial_is_a_program_or_left_out_and_not_both():
    left_out = [file for files in manifest.left_out().values() for file in files]
    inside = {name for program in PROGRAMS.values() if program.wave == "3" for name in program.copy}
    assert len(set(left_out)) == len(left_out) and not inside & set(left_out)
    assert all(file.endswith(".py") and "_source/" in file for file in left_out)
