"""What the engine makes of runs, for every carrier: order, retries, rate limits, failures, what is carried out
(carriers/engine.json).

Level: sandbox."""

import json
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from hookrunner.jq.program import Jq
from hookrunner.kube.client import Client
from tests.contract.test_carriers import CARRIERS, HERE, install, named
from tests.engine.conftest import Bench, bench, client, jq
from tests.examples import is_night
from tests.fakes.cluster import until
from tests.fakes.objects import config_map

__all__ = ["bench", "client", "jq"]

CASES = json.loads((HERE / "engine.json").read_text())


def write_hook(path: Path, hook: Any, settings: dict[str, Any]) -> None:
    install(HERE / "actor.py", path)
    config = {**hook["config"], "settings": {**hook["config"].get("settings", {}), **settings}}
    path.with_name(path.name + ".script.json").write_text(json.dumps({"config": config, "runs": hook["runs"]}))


def described(context: Any) -> str:
    """`Event Added x`, `Synchronization x y`, or the binding of a context without a type."""
    names = [
        entry["object"]["metadata"]["name"] for entry in [context, *context.get("objects", ())] if "object" in entry
    ]
    return " ".join(filter(None, (context.get("type", context["binding"]), context.get("watchEvent"), *names)))


class Story:
    """A case in a running engine."""

    def __init__(self, bench: Bench, case: Any) -> None:
        self.bench = bench
        self.case = case

    def seen(self, hook: str) -> list[list[str]]:
        path = self.bench.directory / "hooks" / f"{hook}.seen"
        lines = path.read_text().splitlines() if path.exists() else []
        return [list(map(described, json.loads(line)["contexts"])) for line in lines]

    async def check(self, expected: Any) -> None:
        """Wait for the runs, and compare them and what waits in the queues."""
        await until(lambda: all(len(self.seen(hook)) >= len(runs) for hook, runs in expected["seen"].items()))
        await self.bench.idle()
        assert {hook: self.seen(hook) for hook in expected["seen"]} == expected["seen"]
        shown = self.bench.shown()
        assert [text[: len(begin)] for text, begin in zip(shown, expected["shown"], strict=True)] == expected["shown"]

    async def retry(self) -> None:
        """Let every task be due."""
        for queue in self.bench.queues:
            for task in queue:
                task.due = 0.0
        self.bench.queues.wake()


def stories() -> Iterator[Any]:
    """Each case with each carrier, at night and where the answer is more than an end; the others with one in turns:
    the engine does not know which one it was."""
    for case, only in zip(CASES, cycle(CARRIERS)):
        for carrier in CARRIERS if is_night() or "by" in case else [only]:
            yield pytest.param(case, carrier, id=f"{named(case)}-{carrier}")


@pytest.mark.slow
@pytest.mark.parametrize(("case", "carrier"), [*stories()])
async def test_a_story(bench: Bench, jq: Jq, client: Client, case: Any, carrier: str) -> None:
    for name, hook in case["hooks"].items():
        write_hook(bench.directory / "hooks" / name, hook, CARRIERS[carrier])
    for name in case.get("given", ()):
        bench.cluster.put(config_map(name))
    story = Story(bench, case)
    await bench.start(jq, client)
    if names := case.get("then"):
        first = {hook: runs[:1] for hook, runs in case["seen"].items()}
        await story.check({"seen": first, "shown": case["shown"]})
        for name in names:
            bench.cluster.put(config_map(name))
    await story.check(case)
    if again := case.get("again"):
        await story.retry()
        await story.check(again)
    if order := case.get("order"):
        directory = bench.directory / "hooks"
        assert sorted(order, key=lambda name: (directory / f"{name}.seen").stat().st_mtime_ns) == order
    lines = bench.metrics.exposition().decode().splitlines()
    assert [line for line in case.get("metrics", ()) if line not in lines] == []
    measures = {line.partition("{")[0]: float(line.rpartition(" ")[2]) for line in lines if line[0] != "#"}
    assert [name for name in case.get("positive", ()) if not measures[name] > 0] == []
    measured = bench.hook_metrics.exposition().decode().splitlines()
    assert [line for line in case.get("hookMetrics", ()) if line not in measured] == []
    assert len(bench.api.asked("POST")) == case.get("posts", 0)
    await bench.executor.processes.close()
