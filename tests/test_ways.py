"""docs/how-it-works.md names the files that an event passes through: compared with a trace of the calls of one.

The application runs in this process, on a sandbox. Between cause and effect each file of hookrunner in which a function
is called counts. The second column of the page's table is the way: each of its files is called. The third column may
name more: helpers, and what is called only sometimes. Nouns, logs, errors and metrics are everywhere, so nowhere named.

A way has as many doors as there are pairs of files of which one calls the other: each of them is a place where a reader
changes files. Two files that call each other are read back and forth; no way should have such a pair.

Level: pure.
"""

import asyncio
import contextlib
import itertools
import json
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import aiohttp
import pytest

import hookrunner
from hookrunner.app import serve
from hookrunner.settings import load
from tests.fakes.cluster import until
from tests.fakes.transports import all_closed
from tests.sandboxes import read_access
from tests.trees import write_files

ROOT = Path(__file__).parents[1]
PACKAGE = Path(hookrunner.__file__).parent
PAGE = (ROOT / "docs" / "how-it-works.md").read_text()
EVERYWHERE = ("model/", "metrics/", "web/", "log.py", "log_forms.py", "errors.py", "options.py", "background.py")
CONFIGMAPS = "/api/v1/namespaces/default/configmaps"

BINDING = """{"name": "cm", "kind": "ConfigMap", "executeHookOnSynchronization": false, "executeHookOnEvent": ["Added"],
"jqFilter": ".metadata.name", "labelSelector": {"matchLabels": {"go": "yes"}}}"""
HOOK = f"""#!/bin/bash
if [[ $1 == --config ]]; then echo '{{"configVersion": "v1", "kubernetes": [{" ".join(BINDING.split())}]}}'; exit; fi
name=$(grep -o '"filterResult":"[^"]*"' "$BINDING_CONTEXT_PATH" | tail -1 | cut -d'"' -f4)
object='{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {{"name": "answer-'$name'", "namespace": "default"}}}}'
echo "{{operation: CreateOrUpdate, object: $object}}" > "$KUBERNETES_PATCH_PATH"
"""

TEMPLATE = """
{apiVersion: v1, kind: ConfigMap, metadata: {name: hello}, data: {k: "{{ .Values.hello.k }}"}}
"""
MODULE = {
    "values.yaml": "helloEnabled: true\nhello: {k: one}\n",
    "001-hello/Chart.yaml": "{name: hello, version: 0.1.0, apiVersion: v2}",
    "001-hello/templates/a.yaml": TEMPLATE,
}


ADDON = {
    "hello/addon.yaml": "object: {kind: Hello}\n",
    "hello/openapi/spec.yaml": "type: object\nproperties: {k: {type: string}}\n",
    "hello/channels/stable": "manifests: [{version: 1.0.0}]",
    "hello/channels/packages/hello/1.0.0/Chart.yaml": MODULE["001-hello/Chart.yaml"],
    "hello/channels/packages/hello/1.0.0/templates/a.yaml": TEMPLATE,
}
HELLOS = "/apis/addons.x-k8s.io/v1alpha1/namespaces/default/hellos"


class Trace:
    """The functions of hookrunner that this thread called inside the `with`, by their files, and from where."""

    def __init__(self) -> None:
        self._calls: set[tuple[str, str]] = set()

    def __enter__(self) -> "Trace":
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _note(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            caller = frame.f_back.f_code.co_filename if frame.f_back else ""
            self._calls.add((caller, frame.f_code.co_filename))

    def files(self) -> set[str]:
        """Paths below hookrunner/, without what is everywhere."""
        return {path for _, called in self._calls if (path := _path(called))}

    def doors(self) -> set[tuple[str, str]]:
        """The file of the caller and that which is called, of calls from one file into another."""
        pairs = ((_path(caller), _path(called)) for caller, called in self._calls)
        return {(caller, called) for caller, called in pairs if caller and called and caller != called}


def _path(file: str) -> str:
    """Below hookrunner/; empty for a file that is no part of a way."""
    name = file.removeprefix(f"{PACKAGE}/")
    return "" if name == file or name.startswith(EVERYWHERE) or name.endswith("__init__.py") else name


@dataclass(frozen=True)
class World:
    """A running hookrunner and the API server that it works with."""

    session: aiohttp.ClientSession

    async def create(self, name: str, labels: Mapping[str, str]) -> None:
        body = {"metadata": {"name": name, "labels": labels}}
        async with self.session.post(CONFIGMAPS, json=body) as answer:
            assert answer.status == 201

    async def set(self, name: str, data: Mapping[str, str]) -> None:
        """Set keys of a ConfigMap that exists."""
        headers = {"Content-Type": "application/merge-patch+json"}
        body = json.dumps({"data": data})
        async with self.session.patch(f"{CONFIGMAPS}/{name}", data=body, headers=headers) as answer:
            assert answer.status == 200

    async def exists(self, name: str) -> bool:
        async with self.session.get(f"{CONFIGMAPS}/{name}") as answer:
            return answer.status == 200

    async def has(self, name: str, key: str, text: str) -> bool:
        async with self.session.get(f"{CONFIGMAPS}/{name}") as answer:
            return answer.status == 200 and (await answer.json()).get("data", {}).get(key) == text

    async def apply_hello(self, text: str) -> bool:
        """Create or change the instance; false as long as its kind is not served."""
        body = {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": "Hello", "spec": {"k": text}}
        place = f"{HELLOS}/x?fieldManager=user&force=true"
        headers = {"Content-Type": "application/apply-patch+yaml"}
        data = json.dumps(body | {"metadata": {"name": "x"}})
        async with self.session.patch(place, data=data, headers=headers) as answer:
            return answer.status in (200, 201)

    async def is_current(self, generation: int) -> bool:
        """Does the status of the instance say that this generation works?"""
        async with self.session.get(f"{HELLOS}/x") as answer:
            status = (await answer.json()).get("status") or {}
        return (status.get("phase"), status.get("observedGeneration")) == ("Current", generation)

    async def until(self, true: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(60):
            while not await true():  # noqa: ASYNC110  # the API server is asked
                await asyncio.sleep(0.01)

    async def pass_time(self) -> None:
        """Let what follows the effect happen: the queue settles the task when the API server has answered."""
        for _ in range(50):
            await self.exists("nothing")


@pytest.fixture(autouse=True)
def one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """The conditions of `/readyz` are looked at once: on a busy machine the next look would fall into the trace."""
    monkeypatch.setattr("hookrunner.status_views._LOOK", 3600.0)


@pytest.fixture
async def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """With one hook, which answers a ConfigMap `x` with a ConfigMap `answer-x`."""
    monkeypatch.chdir(tmp_path)  # else the modules of the checkout would be found
    hook = tmp_path / "hooks" / "answer.sh"
    hook.parent.mkdir()
    hook.write_text(HOOK)
    hook.chmod(0o755)
    async with running(tmp_path, {"hooks-dir": str(hook.parent)}) as world:
        yield world


@pytest.fixture
async def world_of_modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """With one module, whose chart writes the value `k` into a ConfigMap."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path / "modules", MODULE)
    async with running(tmp_path, {"modules-dir": str(tmp_path / "modules")}) as world:
        yield world


@pytest.fixture
async def world_of_addons(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    """With one addon, whose chart writes the field `k` into a ConfigMap."""
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path / "addons", ADDON)
    async with running(tmp_path, {"addons-dir": str(tmp_path / "addons")}) as world:
        yield world


@contextlib.asynccontextmanager
async def running(tmp_path: Path, more: Mapping[str, str]) -> AsyncIterator[World]:
    """A hookrunner with its own API server."""
    kubeconfig = tmp_path / "kubeconfig"
    flags = {
        "sandbox": "true",
        "sandbox-kubeconfig": str(kubeconfig),
        "tmp-dir": str(tmp_path / "tmp"),
        "listen-address": "127.0.0.1",
        "listen-port": "0",
        "debug-unix-socket": str(tmp_path / "socket"),
    }
    flags |= more
    (tmp_path / "tmp").mkdir(mode=0o700)
    served = asyncio.create_task(serve(load(flags, "hookrunner", {}), None))
    try:
        await until(lambda: kubeconfig.exists() or served.done())
        access = read_access(kubeconfig)
        connector = aiohttp.TCPConnector(ssl=access.tls or False)
        async with aiohttp.ClientSession(access.url, headers=access.headers, connector=connector) as session:
            yield World(session)
    finally:
        served.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await served
    await all_closed()


async def warm(world: World) -> None:
    """What happens once is over: the Synchronization, imports, the filter's program."""
    for number in itertools.count():
        await world.create(f"warm-{number}", {"go": "yes"})
        await world.pass_time()
        if await world.exists(f"answer-warm-{number}"):  # earlier ones were perhaps there before the binding
            return


def named(section: str) -> tuple[set[str], set[str]]:
    """The files of a section's table: those of its second column, and all that it names."""
    (text,) = re.findall(rf"^## {section}\n(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\| \d+ \| (.*?) \| (.*) \|$", text, re.MULTILINE)
    way = {name for where, _ in rows for name in _paths(where, where)}
    return way, way | {name for where, what in rows for name in _paths(where, what)}


def _paths(where: str, cell: str) -> set[str]:
    """Backticked paths; a bare file name is of the row's own room, or a room of its own."""
    room = re.findall(r"`([\w/]+/)", where)[0]
    names = re.findall(r"`([\w/]+(?:\.py|/))`", cell)
    return {room + name if (PACKAGE / room / name).exists() else name for name in names}


def covers(names: set[str], file: str) -> bool:
    return any(file == name or (name.endswith("/") and file.startswith(name)) for name in names)


@pytest.mark.slow
async def test_the_page_names_each_file_of_an_events_way(world: World) -> None:
    await warm(world)
    with Trace() as trace:
        await world.create("x", {"go": "yes"})
        await world.until(lambda: world.exists("answer-x"))
        await world.pass_time()
    compare("One event's way through the files", trace, doors=40)


@pytest.mark.slow
async def test_the_page_names_each_file_of_a_values_way(world_of_modules: World) -> None:
    world = world_of_modules
    await world.until(lambda: world.has("hello", "k", "one"))
    await world.create("hookrunner", {})
    await world.set("hookrunner", {"hello": "k: warm"})
    await world.until(lambda: world.has("hello", "k", "warm"))
    await asyncio.sleep(2)  # three edits at once are answered at once; then the objects are watched
    with Trace() as trace:
        await world.set("hookrunner", {"hello": "k: two"})
        await world.until(lambda: world.has("hello", "k", "two"))
        await world.pass_time()
    compare(
        "One value's way through the files", trace, doors=81
    )  # 80, and a second look of drift that may fall into it


@pytest.mark.slow
async def test_the_page_names_each_file_of_an_instances_way(world_of_addons: World) -> None:
    world = world_of_addons
    await world.until(lambda: world.apply_hello("one"))
    await world.until(lambda: world.has("hello", "k", "one"))
    await world.until(lambda: world.is_current(1))
    with Trace() as trace:
        await world.apply_hello("two")
        await world.until(lambda: world.has("hello", "k", "two"))
        await world.until(lambda: world.is_current(2))
        await world.pass_time()
    compare("One instance's way through the files", trace, doors=168)  # what runs beside it differs by a dozen


def compare(section: str, trace: Trace, doors: int) -> None:
    """The files of a section with those that were called. `doors` are as many as a way may have: a longer way needs a
    reason. No two files call each other."""
    way, allowed = named(section)
    called, entered = trace.files(), trace.doors()
    print(len(entered), "doors:", *(f"{caller} -> {called}" for caller, called in sorted(entered)), sep="\n")
    missing = sorted(file for file in called if not covers(allowed, file))
    silent = sorted(name for name in way if not name.startswith(EVERYWHERE) and not _is_called(name, called))
    assert (missing, silent) == ([], []), "files that the page lacks; files that it names and no call enters"
    assert len(entered) <= doors
    back_and_forth = [f"{a} <> {b}" for a, b in sorted(entered) if a < b and (b, a) in entered]
    assert back_and_forth == []


def _is_called(name: str, called: set[str]) -> bool:
    return any(covers({name}, file) for file in called)


def test_each_table_is_read() -> None:
    sections: list[Any] = [
        named(f"One {what}'s way through the files")[0] for what in ("event", "review", "value", "instance")
    ]
    assert [len(way) > 8 for way in sections] == [True, True, True, True]
