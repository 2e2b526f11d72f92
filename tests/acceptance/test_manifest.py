"""The manifest is well formed, and says so where it is not."""

import pytest

from acceptance import manifest

PROGRAMS = manifest.load()
COMMIT = "0" * 40


def test_waves_have_the_programs_that_were_chosen():
    counts = {wave: sum(p.wave == wave for p in PROGRAMS.values()) for wave in manifest.WAVES}
    assert counts == {"1": 31, "2": 44, "spare": 13}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=lambda p: p.id)
def test_an_entry_has_no_problems_and_its_runs_have_names_of_their_own(program):
    assert list(manifest.problems(program)) == []
    names = [name for name, _ in program.runs()]
    assert len(set(names)) == len(names)
    assert all("{" not in command for _, commands in program.runs() for command in commands)


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
        ('edits = [{ file = "a.py" }]', "exactly file, old and new"),
        ("deterministic = false", "without a reason"),
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


def test_select_by_id_variant_and_wave():
    chosen = manifest.select(PROGRAMS, ["makemore/gru", "vqvae"])
    assert [p.id for p in chosen] == ["makemore", "vqvae"]
    assert {p.wave for p in manifest.select(PROGRAMS, waves=["2"])} == {"2"}
    with pytest.raises(KeyError, match="no program 'nothing'"):
        manifest.select(PROGRAMS, ["nothing"])
