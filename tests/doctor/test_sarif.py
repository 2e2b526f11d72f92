"""The SARIF log follows the standard, as `SCHEMA` says it for the objects that the log has, and its addresses are addresses."""

import copy
import json
import re
from pathlib import Path
from urllib.parse import unquote

import pytest

import rushlight as torch
from rushlight.doctor import watch
from rushlight.doctor.report import sarif

jsonschema = pytest.importorskip("jsonschema")


def _object(required="", **properties):
    return {"type": "object", "additionalProperties": False, "required": required.split(), "properties": properties}


def _array(items, least=0):
    return {"type": "array", "minItems": least, "items": items}


_TEXT = {"type": "string", "minLength": 1}
_MESSAGE = _object("text", text=_TEXT)
_LEVEL = {"enum": ["none", "note", "warning", "error"]}
_PLACE = {"type": "integer", "minimum": 1}
_REGION = _object("startLine", startLine=_PLACE, startColumn=_PLACE, endLine=_PLACE, endColumn=_PLACE)
_ARTIFACT = _object("uri", uri=_TEXT)
_PHYSICAL = _object("artifactLocation", artifactLocation=_ARTIFACT, region=_REGION)
_REPLACEMENT = _object("deletedRegion", deletedRegion=_REGION, insertedContent=_object("text", text={"type": "string"}))
_CHANGE = _object("artifactLocation replacements", artifactLocation=_ARTIFACT, replacements=_array(_REPLACEMENT, 1))
_RESULT = _object(
    "message",
    ruleId=_TEXT,
    ruleIndex={"type": "integer", "minimum": -1},
    level=_LEVEL,
    message=_MESSAGE,
    locations=_array(_object(physicalLocation=_PHYSICAL)),
    relatedLocations=_array(
        _object(id={"type": "integer", "minimum": -1}, physicalLocation=_PHYSICAL, message=_MESSAGE)
    ),
    occurrenceCount=_PLACE,
    fixes=_array(_object("artifactChanges", description=_MESSAGE, artifactChanges=_array(_CHANGE, 1))),
)
_RULE = _object("id", id=_TEXT, shortDescription=_MESSAGE, help=_MESSAGE, defaultConfiguration=_object(level=_LEVEL))
_RUN = _object(
    "tool",
    tool=_object("driver", driver=_object("name", name=_TEXT, rules=_array(_RULE))),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    results=_array(_RESULT),
)
# SARIF 2.1.0, section 3, by hand: which properties an object may and must have, and their types
SCHEMA = _object("version runs", **{"$schema": _TEXT}, version={"enum": ["2.1.0"]}, runs=_array(_RUN, 1))
VALIDATOR = jsonschema.Draft4Validator(SCHEMA)
URI = re.compile(r"(file://)?[\w./~%:@!$&'()*+,;=-]+")
LOOP = """
import rushlight as torch
w = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
kept = []
for _ in range(8):
    loss = (w * w).sum()
    loss.backward()
    optimizer.step()
    kept.append(loss)
"""
CLEARED = LOOP.replace("    kept", "    optimizer.zero_grad()\n    loss = loss.detach()\n    kept")


def log_of(name, source):
    with watch() as report:
        exec(compile(source, name, "exec"), {"__name__": "__main__"})
    return json.loads(sarif.text(report))


@pytest.mark.parametrize(
    ("name", "source", "checks"),
    [
        ("größe #1.py", LOOP, ["graph-leak", "stale-grad"]),
        ("<a cell>", LOOP, ["graph-leak", "stale-grad"]),
        ("train.py", CLEARED, []),
    ],
)
def test_follows_the_schema(name, source, checks, tmp_path):
    path = tmp_path / name
    if not name.startswith("<"):
        path.write_text(source)
    log = log_of(name if name.startswith("<") else str(path), source)
    assert [error.message for error in VALIDATOR.iter_errors(log)] == []
    (run,) = log["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == checks
    assert sorted(result["ruleId"] for result in run["results"]) == checks
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        for location in result["locations"] + result["relatedLocations"]:
            uri = location["physicalLocation"]["artifactLocation"]["uri"]
            assert URI.fullmatch(uri) and unquote(uri.rpartition("/")[2]) == path.name


def test_the_schema_refuses(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(LOOP)
    log = log_of(str(path), LOOP)
    for spoil in (
        lambda result: result.pop("message"),
        lambda result: result.update(level="severe"),
        lambda result: result["locations"][0]["physicalLocation"]["region"].update(startLine=0),
        lambda result: result.update(place=3),
    ):
        wrong = copy.deepcopy(log)
        spoil(wrong["runs"][0]["results"][0])
        assert not VALIDATOR.is_valid(wrong)


def test_fixes_give_the_mended_program(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(LOOP)
    lines = LOOP.splitlines(keepends=True)
    for result in log_of(str(path), LOOP)["runs"][0]["results"]:
        (change,) = result["fixes"][0]["artifactChanges"]
        assert change["artifactLocation"]["uri"] == path.as_uri()
        for replacement in reversed(change["replacements"]):
            region, text = replacement["deletedRegion"], replacement["insertedContent"]["text"]
            lines[region["startLine"] - 1] = text  # each replaces the whole of one line
    path.write_text("".join(lines))
    assert log_of(str(path), path.read_text())["runs"][0]["results"] == []


def test_result_of_a_line():
    w = torch.ones(2, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with watch() as report:
        for _ in range(3):
            (w * w).sum().backward()
            optimizer.step()
    (result,) = sarif.as_sarif(report)["runs"][0]["results"]
    assert result["occurrenceCount"] == 2
    (place,) = result["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == Path(__file__).as_uri()
