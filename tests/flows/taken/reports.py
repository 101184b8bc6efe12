"""What came of the rules that were taken away: a table for a person, and the check of it."""

import os
from collections.abc import Sequence
from pathlib import Path

from tests.flows.taken.life import Outcome
from tests.flows.taken.taken_rule import SEED, seed_of_run

TABLE = "RIGHTS_TABLE"
"""The variable with the file to which tables are added."""


def is_reported(thing: str, rule: str) -> bool:
    """Has the table a good row of this rule already, from a run that was interrupted?"""
    file = Path(os.environ.get(TABLE, os.devnull))
    return file.exists() and f"  {_of(thing, rule)}" in file.read_text()


def _of(thing: str, rule: str) -> str:
    return f"{thing:24} {rule:80} "


def report(thing: str, outcome: Outcome) -> Outcome:
    """The same, printed as a row of a table, and added to the file that RIGHTS_TABLE names."""
    mark = " " if outcome.is_good else "!"
    result = f"{', '.join(outcome.named)}; in {outcome.step}" if outcome.refused else "no request needs it"
    wrong = f"; refused: {outcome.refused}; also named: {outcome.others}" * (not outcome.is_good)
    line = f"{mark} {_of(thing, outcome.rule)}{result}{wrong}"
    print(line)
    if file := os.environ.get(TABLE):
        with Path(file).open("a") as table:
            table.write(f"{line}\n")
    return outcome


def check(outcomes: Sequence[Outcome]) -> None:
    """Assert that each refused request was named, everywhere, and nothing else."""
    bad = [outcome for outcome in outcomes if not outcome.is_good]
    assert bad == [], f"repeat it with {SEED}={seed_of_run()}: {bad}"
