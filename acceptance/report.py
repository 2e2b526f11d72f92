"""The page docs/programs.md, from the manifest and the results."""

from acceptance.manifest import left_out

_VERDICTS: tuple[str, ...] = ("equal", "rounding", "runs", "differs", "fails", "not run")


def verdict(found):
    """equal, rounding (diverges as torch diverges from itself), differs, runs (nothing to compare with), or fails."""
    if found is None:
        return "not run"
    if found["rushlight"]["status"] != "ok":
        return "fails"
    if "compared" not in found or not found.get("deterministic", True):
        return "runs"
    if found["compared"]["equal"]:
        return "equal"
    return "rounding" if found.get("rounding") else "differs"


def summary(found):
    """One line for the terminal."""
    ours = found["rushlight"]
    parts = [f"{ours['steps']} steps, {ours['seconds']:.1f} s"]
    if "torch" in found:
        theirs = found["torch"]
        parts.append(f"torch {theirs['status']} {theirs['seconds']:.1f} s")
    if "compared" in found:
        parts.append(f"digits {found['compared']['loss_digits']}")
        parts.append(found["compared"]["first_apart"])
    parts.append(ours["error"].splitlines()[-1] if ours["error"] else "")
    return ", ".join(part for part in parts if part)


def page(programs, results):
    """The whole page as Markdown."""
    rows, totals, seconds = [], dict.fromkeys(_VERDICTS, 0), [0.0, 0.0]
    for program in programs.values():
        runs = [(entry.name, results.get(entry.name)) for entry in program.runs()]
        worst = max((verdict(found) for _, found in runs), key=_VERDICTS.index)
        if program.wave != "spare":
            totals[worst] += 1
            for _, found in runs:
                if found and found.get("torch", {}).get("status") == found["rushlight"]["status"] == "ok":
                    seconds = [seconds[0] + found["torch"]["seconds"], seconds[1] + found["rushlight"]["seconds"]]
        rows += [_row(program, name, found) for name, found in runs]
    return _TEXT.format(
        rows="\n".join(rows),
        total=sum(totals.values()),
        seconds=f"{seconds[0]:.0f} s under torch, {seconds[1]:.0f} s under Rushlight",
        causes="\n".join(_causes(programs, results)) or "None.",
        edits="\n".join(_edits(programs)) or "None.",
        settings="\n".join(_settings(programs)) or "None.",
        left_out="\n".join(_left_out()),
        **{key.replace(" ", "_"): value for key, value in totals.items()},
    )


def _row(program, name, found):
    link = f"[{program.repository}](https://github.com/{program.repository}/tree/{program.commit})"
    cells = [name, link, program.what, verdict(found), *[""] * 6]
    if found:
        compared = found.get("compared") or {}
        cells[4] = str(compared.get("steps_compared", "") or "")
        cells[5] = _number(found.get("torch", {}).get("first_loss"))
        cells[6] = _number(found["rushlight"].get("first_loss"))
        cells[7] = _digits(compared)
        cells[8] = _digits(found.get("float64") or {})
        if found.get("torch", {}).get("status") == "ok" and verdict(found) != "fails":
            cells[9] = f"{found['rushlight']['seconds'] / max(found['torch']['seconds'], 1e-9):.2f}"
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _number(value):
    return "" if value is None else f"{value:.6g}"


def _digits(compared):
    digits = compared.get("loss_digits")
    return "" if digits is None else f"{digits:.1f}"


def _causes(programs, results):
    for program in programs.values():
        for entry in program.runs():
            name, found = entry.name, results.get(entry.name)
            result = verdict(found)
            if result in ("equal", "not run") or (result == "runs" and not program.why):
                continue
            facts = (
                found["compared"]["first_apart"]
                if result in ("differs", "rounding")
                else found["rushlight"]["error"].strip()
            )
            facts = " ".join(facts.splitlines()[-1].split()) if facts else ""
            parts = [f"**{name}** {result}.", program.why, f"`{facts}`" if facts else "", _beside(found)]
            yield "- " + " ".join(part for part in parts if part)


def _beside(found):
    """What the other runs say: torch's where both fail, and of one that parts torch against itself and double precision."""
    sentences = []
    if found["rushlight"]["status"] != "ok" and found.get("torch", {}).get("error") == found["rushlight"]["error"]:
        sentences.append("torch ends with the same message.")
    if yardsticks := found.get("yardsticks"):
        steps = [yardstick["apart_at"] for yardstick in yardsticks]
        at = " and ".join("never" if step is None else f"at step {step}" for step in steps)
        sentences.append(f"torch diverges from itself {at}.")
    if exact := found.get("exact"):
        sentences.append(
            f"Against the same run in double precision torch keeps {exact['torch']:.1f} digits until then, Rushlight "
            f"{exact['rushlight']:.1f}."
        )
    if double := found.get("float64"):
        if double.get("errors"):
            causes = "; ".join(f"{side}: {error}" for side, error in double["errors"].items())
            sentences.append(f"It does not run in double precision (`{causes}`).")
        elif double["loss_digits"] is not None:
            sentences.append(f"In double precision every loss agrees to {double['loss_digits']:.1f} digits.")
    return " ".join(sentences)


def _settings(programs):
    for program in programs.values():
        if program.settings:
            each = ", ".join(f"`{option}` ({default})" for option, default in program.settings.items())
            yield f"- **{program.id}** {each}"


def _edits(programs):
    for program in programs.values():
        for edit in program.edits:
            yield f"- **{program.id}** `{edit['file']}`: `{edit['old'].strip()}` became `{edit['new'].strip()}`"


def _left_out():
    for need, files in left_out().items():
        yield f"| {need} | {', '.join(f'`{file}`' for file in files)} |"


_TEXT = """# Public programs under Rushlight

Written by `python -m acceptance report`; what it says was measured by `python -m acceptance run` ([Acceptance](acceptance.md)
says how, and how to repeat it).

Each program comes from a public repository at the commit that its link names, and runs unmodified, on small synthetic
data in the formats that it reads, for up to 50 optimizer steps, once under torch and once under Rushlight, on one thread
and from the same seed.

- **equal**: the loss that `backward` was called on agrees to 4 digits at every step, and so does every number that the
  program printed (a difference of one unit in the last printed place counts as agreement; times and dates are left out).
- **rounding**: a number diverges, but no sooner than torch diverges from itself when it runs on twice the threads without
  oneDNN, or starts from parameters that are one unit in the last place away; or no further from what torch computes in
  double precision, from the same parameters and random numbers, than torch is (a factor of 5).
- **differs**: it runs to the end, and at least one number does not agree.
- **runs**: it runs to the end, and there is nothing to compare it with.

Steps: how many were compared. Digits: the fewest of any step's loss. In float64: the same where both compute the whole
program in double precision, which a program that parts is asked to do: rounding errors are then a billion times smaller,
and what remains would be a difference in the mathematics. Time: Rushlight's over torch's, whole process.

Of the {total} programs of waves 1, 2 and 3: {equal} equal, {rounding} part by rounding, {runs} run, {differs} differ, {fails} fail, {not_run} not run.
Time in all, of what runs under both: {seconds}.

| Program | Repository | What it does | Result | Steps | First loss, torch | First loss, Rushlight | Digits | In float64 | Time |
|---|---|---|---|---|---|---|---|---|---|
{rows}

## Causes

{causes}

## Options that change the numbers

As given, with the program's own default in parentheses:

{settings}

## Changes in the copy

Where a program has no option for it, a constant is smaller in the copy that runs under both; an error that stops torch as well
is fixed:

{edits}

## Tutorials that are left out

Wave 3 is the official tutorials, from a translation with the same code. Those that are not in it need what one or both runs do not have:

| What is needed | Tutorials |
|---|---|
{left_out}
"""
