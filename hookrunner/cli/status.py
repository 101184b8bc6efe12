"""`hookrunner status`: on one screen, whether a running hookrunner is ready and what needs you, over its debug socket.

What needs you is in groups of one kind. Each has room for one need and for what to do, then for a few more needs, then
for the rest of long texts, the most urgent first. What has no room is counted.
"""

import itertools
import shutil
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence

import click
import orjson

from hookrunner.cli.debug import Sockets, as_form, ask, at
from hookrunner.cli.output import Color, age, echo_styled, show, style
from hookrunner.printable import printable
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

NEEDS_YOU = 3
"""The exit code if hookrunner is not ready, or something needs its user."""

_COLORS: Mapping[str, Color] = {
    "ready": "green",
    "not ready": "red",
    "stopping": "yellow",
    "critical": "red",
    "failing": "red",
    "waiting": "yellow",
    "advice": "cyan",
}
_WORDS = {
    "hooks": "hook",
    "modules": "module",
    "addons": "instance",
    "nodes": "Node",
    "services": "Service",
    "loops": "loop",
    "deletions": "deletion of Node",
    "watches": "watch",
    "purge": "release",
}
"""What one of a kind is called; others are called as their kind."""
_MARGIN = 10
_NARROWEST = 40
_MOST_NEEDS, _MOST_LINES, _MOST_REASON = 4, 4, 2
"""Needs of a group that are shown, lines that each has, and lines of the reason for not being ready."""


@click.command()
@click.option("-a", "--all", "everything", is_flag=True, help="Show everything in full, however long it gets.")
@as_form
@at
def status(everything: bool, output: str, sockets: Sockets) -> int:
    """Show whether hookrunner is ready, and what needs you. Why it is not comes first, then the most urgent.

    \b
    hookrunner status
    hookrunner status --all
    hookrunner status -o json | jq -r '.needs[] | select(.urgency == "critical") | .message'
    kubectl exec deploy/hookrunner -- hookrunner status

    It ends with 0 if hookrunner is ready and nothing needs you, with 3 if it is not ready or something does, with 1 if
    no hookrunner answers, with 2 for bad usage.
    """
    text = ask(sockets, "/status.json")
    state = orjson.loads(text)
    if output == "text":
        width, height = shutil.get_terminal_size()
        screen = Screen(max(width, _NARROWEST), None if everything else height)
        echo_styled("\n".join(screen.lines(state, time.time())))
    else:
        show(text if output == "json" else ask(sockets, "/status.yaml"))
    return 0 if state["state"] == "ready" and not state["needs"] else NEEDS_YOU


@dataclass(frozen=True, slots=True)
class _Group:
    """Needs of one kind and urgency, each as the lines of its text, and what to do about them."""

    urgency: str
    needs: list[list[str]]
    action: str

    def lines(self, count: int, spare: int) -> list[str]:
        """As many needs, each with one line, and with `spare` lines more for the longest texts; then what to do."""
        shown = list[str]()
        for need in self.needs[:count]:
            room = 1 + min(spare, len(need) - 1)
            spare -= room - 1
            shown += need[:room] if room == len(need) else [*need[: room - 1], f"{need[room - 1][:-1]}…"]
        hidden = len(self.needs) - count
        shown.append(f"and {hidden} more: {self.action}" if hidden else f"next: {self.action}")
        label = style(self.urgency.ljust(_MARGIN), _COLORS[self.urgency])
        return [label + shown[0], *(" " * _MARGIN + line for line in shown[1:])]

    def spent(self, count: int, spare: int) -> int:
        """How many of the spare lines it takes."""
        return len(self.lines(count, spare)) - count - 1


@dataclass(frozen=True, slots=True)
class Screen:
    """`width` in characters; `height` in lines, None for as many as everything takes."""

    width: int
    height: int | None

    def lines(self, state: JSON, now: float) -> list[str]:
        """The state of the program; `now` is epoch seconds."""
        first, facts = self._first(state), textwrap.wrap("; ".join(_facts(state["facts"], now)), self.width)
        needs = self._needs(state["needs"], now, len(first) + len(facts) + 3)
        return [*first, "", *needs, *[""] * bool(needs), *facts]

    def _first(self, state: JSON) -> list[str]:
        """Whether it is ready, or why not."""
        word, count = state["state"], len(state["needs"])
        if word == "ready":
            news = {0: "nothing needs you", 1: "1 thing needs you"}.get(count, f"{count} things need you")
            return [f"{style(word, _COLORS[word], bold=True)}, {news}"]
        head, *more = self._wrapped(": ".join(filter(None, (word, state["reason"]))), self.width, _MOST_REASON)
        return [style(word, _COLORS[word], bold=True) + head.removeprefix(word), *more]

    def _needs(self, needs: Sequence[JSON], now: float, taken: int) -> list[str]:
        """All groups, in what is left of the screen."""
        grouped = [[*each] for _, each in itertools.groupby(needs, key=_kind)]
        groups = [self._group(each, now) for each in grouped]
        if self.height is None:
            return [line for group in groups for line in group.lines(len(group.needs), 1000)]
        left = max(self.height - taken - 1, 3)
        fitting = groups if 2 * len(groups) <= left else groups[: (left - 1) // 2]
        counts, spare = _share_out([len(group.needs) for group in fitting], left - (len(fitting) < len(groups)))
        shown = list[str]()
        for group, count in zip(fitting, counts, strict=True):
            shown += group.lines(count, spare)
            spare -= group.spent(count, spare)
        hidden = sum(len(group.needs) for group in groups[len(fitting) :])
        return [*shown, *[f"and {hidden} more: hookrunner status --all"] * bool(hidden)]

    def _group(self, needs: Sequence[JSON], now: float) -> _Group:
        room = self.width - _MARGIN
        action = self._wrapped(needs[0]["action"], room - len("and 10000 more: "), 1)[0]
        return _Group(needs[0]["urgency"], [self._wrapped(_text(need, now), room) for need in needs], action)

    def _wrapped(self, text: str, width: int, most: int = _MOST_LINES) -> list[str]:
        """A text as lines; the last one ends with `…` if they are too few for it."""
        limit = most if self.height else None
        return textwrap.wrap(printable(text), width, max_lines=limit, placeholder="…") or [""]


def _share_out(sizes: Sequence[int], lines: int) -> tuple[list[int], int]:
    """How many needs of each group are shown, and how many lines are left: each group takes one line more for what to
    do, and none has a second need before all have one."""
    counts, spare = [1] * len(sizes), lines - 2 * len(sizes)
    for number in range(2, _MOST_NEEDS + 1):
        for place, size in enumerate(sizes):
            if size >= number and spare > 0:
                counts[place], spare = number, spare - 1
    return counts, spare


def _kind(need: JSON) -> tuple[str, str, str]:
    return need["urgency"], need["kind"], need["action"]


def _text(need: JSON, now: float) -> str:
    """`hook a.sh (queue main, 3 wait behind it, next try in 5s): has failed twice for tick: exit status 1`."""
    subject = " ".join(filter(None, (_WORDS.get(need["kind"], need["kind"]), need["name"])))
    details = ", ".join(_details(need, now))
    return f"{subject}{f' ({details})' if details else ''}: {need['message']}"


def _details(need: JSON, now: float) -> Iterator[str]:
    if need["queue"]:
        yield f"queue {need['queue']}"
    if need["behind"]:
        yield f"{need['behind']} wait behind it"
    if need["again"]:
        yield f"next try in {age(max(need['again'] - now, 0.0))}"


def _facts(facts: JSON, now: float) -> Iterator[str]:
    """What runs here, in a few words each."""
    yield f"hookrunner {facts['version']}, up {age(now - facts['started'])}"
    yield _count(facts["hooks"], "hook")
    queues = f"{_count(facts['tasks'], 'task')} in {_count(facts['queues'], 'queue')}"
    yield queues if facts["tasks"] else "queues are empty"
    if facts["modules"] is not None:
        yield f"{_count(facts['modules'], 'module')} on, {facts['modules_ready']} ready"
    if facts["instances"] is not None:
        yield f"{_count(facts['instances'], 'instance')}, {facts['instances_healthy']} healthy"
    if facts["leads"] is not None:
        yield f"leader of the cloud: {'this replica' if facts['leads'] else facts['leader'] or 'none that is known'}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + "s" * (number != 1)
