"""How far the converge is, in addon-operator's words, which probes and deployment scripts read
(addon-operator.md §8.3). Pure."""

from collections.abc import Iterator

from hookrunner.model.resources import JSON
from hookrunner.model.status import ConvergeDump

DONE, IN_PROGRESS = "Startup converge done.\n", "Startup converge in progress\n"


def words(found: ConvergeDump, ready: bool) -> str:
    """For `/readyz`; empty if it is something else that keeps the program from being ready."""
    if not found.done:
        return IN_PROGRESS
    return DONE if ready else ""


def text(found: ConvergeDump) -> str:
    """For `/status/converge`: a line for the first converge, and when it is done one for the present."""
    return "".join(f"{line}\n" for line in _lines(found))


def states(found: ConvergeDump) -> JSON:
    """The same as JSON."""
    first, later = (0, found.tasks) if found.done else (found.tasks, 0)
    return {
        "CONVERGE_IN_PROGRESS": later,
        "CONVERGE_WAIT_TASK": found.done and not later,
        "STARTUP_CONVERGE_DONE": found.done,
        "STARTUP_CONVERGE_IN_PROGRESS": first,
        "STARTUP_CONVERGE_NOT_STARTED": not found.begun,
    }


def _lines(found: ConvergeDump) -> Iterator[str]:
    if not found.begun:
        yield "STARTUP_CONVERGE_NOT_STARTED"
    elif not found.done:
        yield f"STARTUP_CONVERGE_IN_PROGRESS: {found.tasks} tasks"
    else:
        yield "STARTUP_CONVERGE_DONE"
        yield f"CONVERGE_IN_PROGRESS: {found.tasks} tasks" if found.tasks else "CONVERGE_WAIT_TASK"
