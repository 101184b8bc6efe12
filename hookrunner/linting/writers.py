"""Hooks and modules that every user of the machine may change, which the start refuses outside of a pod."""

from collections.abc import Iterator
from pathlib import Path

from hookrunner.hooks import writable
from hookrunner.linting.findings import Finding
from hookrunner.private_files import User


def check(path: Path) -> Iterator[Finding]:
    """What every user may change of a file or directory, in it, and of the directories above it."""
    here = Path.cwd().resolve()
    for found in writable.findings(path, User.of_process()):
        if found.by_all:
            shown = found.path.relative_to(here) if found.path.is_relative_to(here) else found.path
            text = f"{found.writers}, so that a start outside of a pod is refused; chmod o-w {shown}"
            yield Finding(str(shown), 1, 1, "writable", text)
