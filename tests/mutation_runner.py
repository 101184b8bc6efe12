"""Puts back faults that no test had noticed, or only a story (`unnoticed_mutations.json`: of each the file, the text in
it, what replaces it, the tests that notice), one at a time, and shows that the quick tests catch each.

    python -m tests.mutation_runner [NUMBER …]

It works on a copy of the last commit. The tests of the row run first; if they pass, all quick tests do; if these pass
too, the row says MISSED, and the exit code is 1. A test that catches must pass without the mutation. Rows whose file,
text or tests have moved are named before anything runs, and by `tests/test_mutation_runner.py`.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
QUICK = ("--hypothesis-profile=quick", "-m", "not cluster and not story and not slow and not nightly and not soak")


class Mutation(NamedTuple):
    """A text that stands once in a file, what replaces it, and the tests that should notice."""

    file: str
    old: str
    new: str
    tests: str


ROWS = Path(__file__).with_name("unnoticed_mutations.json")
MUTATIONS = tuple(Mutation(*row) for row in json.loads(ROWS.read_text()))


def stale(root: Path, mutations: Sequence[Mutation]) -> list[str]:
    """What is wrong with each row that no longer fits the code."""
    return [
        f"row {number} ({mutation.file}): {problem}; the code has moved: give the row its new place"
        for number, mutation in enumerate(mutations, 1)
        if (problem := _problem(root, mutation))
    ]


def _problem(root: Path, mutation: Mutation) -> str:
    file = root / mutation.file
    if not file.is_file():
        return "there is no such file"
    if not (root / mutation.tests).exists():
        return f"there is no {mutation.tests}"
    count = file.read_text().count(mutation.old)
    return "" if count == 1 else f"the text {mutation.old!r} is there {count} times, not once"


def main(numbers: list[int]) -> int:
    if unknown := sorted(set(numbers) - set(range(1, len(MUTATIONS) + 1))):
        raise SystemExit(f"there are rows 1 to {len(MUTATIONS)}, not {', '.join(map(str, unknown))}")
    missed = 0
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch)
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
        subprocess.run(["tar", "-x", "-C", scratch], input=archive, check=True)
        if problems := stale(copy, MUTATIONS):
            raise SystemExit("\n".join(problems))
        for number in numbers or range(1, len(MUTATIONS) + 1):
            mutation = MUTATIONS[number - 1]
            outcome = _outcome(copy, mutation)
            missed += outcome == "MISSED"
            print(f"| {number} | `{mutation.file}` | `{mutation.old}` → `{mutation.new}` | {outcome} |", flush=True)
    return 1 if missed else 0


def _outcome(copy: Path, mutation: Mutation) -> str:
    file = copy / mutation.file
    text = file.read_text()
    for tests, workers in ((mutation.tests, "0"), ("tests", "2")):
        file.write_text(text.replace(mutation.old, mutation.new))
        failed = _failure(copy, tests, workers)
        file.write_text(text)
        if failed and not _failure(copy, failed, "0"):
            return f"caught by `{failed}`"
    return "MISSED"


def _failure(copy: Path, tests: str, workers: str) -> str:
    """The first test that fails; empty if none does."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", workers, "--tb=no", "--no-header", *QUICK, tests]
    # The copy comes before the checkout that is installed for development.
    environ = {**os.environ, "PYTHONPATH": str(copy)}
    done = subprocess.run(command, cwd=copy, env=environ, capture_output=True, text=True)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return failed[0].split()[1].partition("[")[0] if failed else ""


if __name__ == "__main__":
    sys.exit(main([int(word) for word in sys.argv[1:]]))
