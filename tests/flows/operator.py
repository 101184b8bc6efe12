"""A running `hookrunner start` as a story sees it: its hooks' records, its log, its ports, its end."""

import contextlib
import http.client
import json
import os
import re
import subprocess
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any

from hookrunner.cli.debug import ask
from tests import launcher
from tests.controlplane.processes import free_port
from tests.flows.waiting import until


@dataclass(frozen=True, slots=True)
class Readiness:
    """What `/readyz` says; `messages` by condition, those that do not hold only."""

    ready: bool
    messages: dict[str, str]


@dataclass(eq=False)
class Operator:
    """One directory with hooks, temp files and records, and the process that works in it. `start` may be called again
    after the process has ended. `environ` are variables besides those of the test run. With `executed` the process is
    not forked from one that has imported everything."""

    directory: Path
    kubeconfig: Path
    flags: tuple[str, ...] = ()
    port: int = field(default_factory=free_port)
    environ: Mapping[str, str] = field(default_factory=dict)
    executed: bool = False
    _process: launcher.Program | subprocess.Popen[bytes] | None = None

    @property
    def told(self) -> Path:
        """Where hooks leave what they have to say."""
        return self.directory / "told"

    @property
    def tmp(self) -> Path:
        """The temp dir."""
        return self.directory / "tmp"

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process is not None
        return self._process.pid

    def write_hooks(self, scripts: Mapping[str, str]) -> None:
        """Put executable hooks into the hooks directory."""
        self.told.mkdir(exist_ok=True)
        for name, text in scripts.items():
            file = self.directory / "hooks" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            # Written under another name first: a file that is open for writing cannot be executed.
            (file.parent / ".new").write_text(text)
            (file.parent / ".new").chmod(0o755)
            (file.parent / ".new").rename(file)

    def start(self) -> None:
        """Start the program, which does not outlive the test run, however that ends."""
        ours = {name: text for name, text in os.environ.items() if not name.startswith(("HOOKRUNNER_", "KUBE"))}
        places = {"hooks-dir": "hooks", "tmp-dir": "tmp", "debug-unix-socket": "debug.socket"}
        flags = [f"--{flag}={self.directory / place}" for flag, place in places.items()]
        address = ["--listen-address=127.0.0.1", f"--listen-port={self.port}", f"--kube-config={self.kubeconfig}"]
        with (self.directory / "log").open("ab") as log, (self.directory / "errors").open("ab") as errors:
            begin = launcher.execute if self.executed else launcher.start
            self._process = begin(
                ["start", *flags, *address, *self.flags],
                cwd=self.directory,
                env={**ours, "TOLD": str(self.told), "TZ": "UTC", **self.environ},
                stdout=log.fileno(),
                stderr=errors.fileno(),
            )

    def tell(self, word: str) -> None:
        """Leave a word for the hooks, as an empty file."""
        (self.told / word).touch()

    def runs(self, hook: str) -> list[list[Any]]:
        """The contexts that each run of a hook got, in order."""
        return [json.loads(line) for line in whole_lines(self.told / f"{hook}.jsonl")]

    def contexts(self, hook: str) -> list[Any]:
        """The contexts of all its runs."""
        return [context for run in self.runs(hook) for context in run]

    def events(self, hook: str) -> list[tuple[str, str]]:
        """`(watchEvent, name)` of the objects in the hook's Event contexts."""
        found = [context for context in self.contexts(hook) if context.get("type") == "Event"]
        return [(context["watchEvent"], context["object"]["metadata"]["name"]) for context in found]

    async def has_run(self, hook: str, times: int = 1) -> list[list[Any]]:
        """Wait until a hook has been started so many times."""
        return await until(
            lambda: runs if len(runs := self.runs(hook)) >= times else [],
            lambda: f"{times} runs of {hook}\n{self.story()}",
        )

    async def hears(self, hook: str, count: int) -> list[tuple[str, str]]:
        """Wait until a hook has received so many events."""
        reached = lambda: found if len(found := self.events(hook)) >= count else []  # noqa: E731
        return await until(reached, f"{count} events for {hook}")

    def logs(self) -> list[dict[str, Any]]:
        """All log records so far. What `--sandbox` tells about itself comes before them."""
        lines = whole_lines(self.directory / "log")
        return [json.loads(line) for line in lines if not line.startswith(("sandbox: ", "export KUBECONFIG="))]

    async def wait_log(self, words: str) -> dict[str, Any]:
        """Wait for a record that holds these words anywhere."""
        found = lambda: [record for record in self.logs() if words in json.dumps(record)]  # noqa: E731
        return (await until(found, f"a log record with {words!r}"))[0]

    def story(self) -> str:
        """The last lines of the log, for the reader of a failure."""
        files = (self.directory / "errors", self.directory / "log")
        return "\n".join(line for file in files for line in whole_lines(file)[-15:])

    def get(self, path: str) -> tuple[int, str]:
        """Status and text of a page; status 0 without an answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read().decode()
        except (OSError, http.client.HTTPException):
            return 0, ""

    def readyz(self) -> Readiness:
        """What `/readyz` says now."""
        status, text = self.get("/readyz?output=json")
        conditions = json.loads(text)["conditions"] if status else []
        return Readiness(status == 200, {c["name"]: c["message"] for c in conditions if not c["ready"]})

    async def ready(self) -> None:
        """Wait until it is ready."""
        await until(lambda: self._alive() and self.readyz().ready, "being ready")

    async def not_ready(self, words: str) -> None:
        """Wait until it is not ready and says so with these words."""
        await until(lambda: words in str(self.readyz().messages), f"not ready, with {words!r}")

    async def names(self, condition: str, words: str) -> None:
        """Wait until a condition of `/readyz` names something, although the program is ready."""

        def named() -> bool:
            status, text = self.get("/readyz?output=json")
            messages = {c["name"]: c["message"] for c in json.loads(text)["conditions"]} if status == 200 else {}
            return words in messages.get(condition, "")

        await until(named, f"ready, and {condition} with {words!r}")

    def metric(self, name: str, /, **labels: str) -> float:
        """The sum of the samples of a metric with these labels; `name` without prefix. 0 without samples."""
        return sample_sum(self.get("/metrics")[1], f"hookrunner_{name}", labels)

    def hook_metric(self, name: str, **labels: str) -> float:
        """As `metric`, for what hooks export."""
        return sample_sum(self.get("/metrics/hooks")[1], name, labels)

    def queue_list(self) -> dict[str, list[str]]:
        """The descriptions of the tasks in each queue; empty for a queue that is not shown."""
        shown = json.loads(ask((self.directory / "debug.socket",), "/queue/list.json?showEmpty=true"))
        queues = [*shown["active"], *shown.get("empty", [])]
        return defaultdict(list, {q["name"]: [task["description"] for task in q.get("tasks", [])] for q in queues})

    def command(self, *words: str) -> str:
        """What a debug command prints."""
        socket = f"--debug-unix-socket={self.directory / 'debug.socket'}"
        ended = launcher.run([*words, socket], cwd=self.directory, env=os.environ)
        ended.check_returncode()
        return ended.stdout

    def send(self, number: int) -> None:
        """Send a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    async def ended(self) -> int:
        """Wait for its end; the exit code."""
        process = self._process
        assert process is not None
        await until(lambda: process.poll() is not None, lambda: f"the end of the program\n{self.story()}")
        return int(process.wait())

    async def stop(self, number: int = SIGTERM) -> int:
        """Ask for the end and wait for it; the exit code."""
        self.send(number)
        return await self.ended()

    def _alive(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"the program ended by itself:\n{self.story()}"
        return True

    def running(self) -> bool:
        """Has it been started and not ended?"""
        return self._process is not None and self._process.poll() is None

    async def alone(self) -> None:
        """Wait until nothing lives that hooks of this story have started. What is killed lives on for a moment."""
        await until(lambda: not self.left_behind(), "the end of what hooks have started")

    def left_behind(self) -> list[int]:
        """Processes that hooks of this story have started and that still live."""
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self._is_ours(pid)]

    def kill(self) -> None:
        """End it and everything that it has started, at once. A shell that is listed may start another process before
        it is killed, so the list is read until it is empty."""
        if self._process is not None:
            self._process.send_signal(SIGKILL)
            self._process.wait()
        while pids := self.left_behind():
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, SIGKILL)

    def _is_ours(self, pid: int) -> bool:
        try:
            return f"TOLD={self.told}\0".encode() in Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:  # it has ended meanwhile
            return False


def whole_lines(file: Path) -> list[str]:
    """The lines of a file that another process may be writing to, without the one that is not written to its end: that
    may stop in the middle of a character."""
    written = file.read_bytes() if file.exists() else b""
    return written[: written.rfind(b"\n") + 1].decode().split("\n")[:-1]


def sample_sum(exposition: str, name: str, labels: Mapping[str, str]) -> float:
    """Add up the samples of one name in a text of the Prometheus format."""
    total = 0.0
    for line in exposition.splitlines():
        if match := re.fullmatch(rf"{re.escape(name)}(\{{(.*)\}})? (\S+)", line):
            found = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2] or ""))
            total += float(match[3]) if labels.items() <= found.items() else 0.0
    return total


def oops(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records that no story may cause: errors of our own."""
    return [record for record in records if "please report" in json.dumps(record) or "Traceback" in json.dumps(record)]
