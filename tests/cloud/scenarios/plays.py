"""Plays all scenes with a manager, step by step, and notes what everything looks like at the end of each.

A step has ended when the world looks as it is known to in the end, or, with an unknown end, when nothing has changed
for a while.
"""

import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from tests.cloud.scenarios.documents import Document
from tests.cloud.scenarios.world import Scene, World

Ends = dict[str, Document]

RECORDED = Path(__file__).with_name("ends.json")
_LOOK = 0.2
_QUIET, _LONG_QUIET, _LONGEST = 6.0, 45.0, 180.0
"""Seconds without a change after which nothing else is expected: at the known end, and elsewhere, where a busy machine
may only be slow (a pass over all Nodes starts a process for each). And seconds for which an end is waited for."""
_STAYS = 1.0
"""Seconds for which a known end must hold: several periods of every loop."""


def record(world: World, scenes: Sequence[Scene], expected: Sequence[Ends]) -> list[Ends]:
    """The ends of all steps, with a manager that may come to other ends than expected. Slow."""
    return [_until_quiet(world, scenes, expected[number]) for number, _ in enumerate(_steps(world, scenes))]


def compare(world: World, scenes: Sequence[Scene], known: Sequence[Ends]) -> None:
    """Play with a manager that must come to the known ends. Raises AssertionError with what differs."""
    for number, _ in enumerate(_steps(world, scenes)):
        _until(world, scenes, known[number])


def load_recorded() -> list[Ends]:
    """The ends that Kubernetes' own manager came to, of each step."""
    scenes: dict[str, list[Document]] = json.loads(RECORDED.read_text())
    return [dict(zip(scenes, ends, strict=True)) for ends in zip(*scenes.values(), strict=True)]


def render_ends(steps: Sequence[Ends]) -> str:
    """The text of `ends.json`: one scene a line, with its ends after each step."""
    scenes = {name: [ends[name] for ends in steps] for name in sorted(steps[0])}
    lines = [f"{json.dumps(name)}: {json.dumps(ends, sort_keys=True)}" for name, ends in scenes.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _steps(world: World, scenes: Sequence[Scene]) -> Iterable[None]:
    world.make(scenes)
    yield
    for number in range(max(len(scene.steps) for scene in scenes)):
        world.advance(scenes, number)
        yield


def _until_quiet(world: World, scenes: Sequence[Scene], expected: Ends) -> Ends:
    ends, since = world.ends(scenes), time.monotonic()
    deadline = since + _LONGEST
    while time.monotonic() - since < (_QUIET if ends == expected else _LONG_QUIET):
        time.sleep(_LOOK)
        if (now := world.ends(scenes)) != ends:
            ends, since = now, time.monotonic()
        assert since < deadline, "it does not come to an end"
    return ends


def _until(world: World, scenes: Sequence[Scene], known: Ends) -> None:
    deadline = time.monotonic() + _LONGEST
    while (differences := _differences(world.ends(scenes), known)) and time.monotonic() < deadline:
        time.sleep(_LOOK)
    lines = [f"{name}\n  is     {end}\n  should {wanted}" for name, (end, wanted) in differences.items()]
    assert not differences, "\n".join(lines)
    time.sleep(_STAYS)
    assert not _differences(world.ends(scenes), known), "it was so for a moment, and then was not"


def _differences(ends: Ends, known: Ends) -> dict[str, tuple[Document, Document]]:
    """What is and what should be, of the scenes where that differs."""
    return {name: (end, known[name]) for name, end in ends.items() if end != known[name]}
