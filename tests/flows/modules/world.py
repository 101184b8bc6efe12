"""The world of a story about modules: a directory of modules, a cluster, and the operator that runs with both."""

import asyncio
import json
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGTERM
from typing import Any

from hookrunner.cli.debug import ask as ask_debug
from tests.flows.operator import Operator
from tests.flows.waiting import until, until_is

Ask = Callable[[str, str, object], Awaitable[Any]]

STORY = "story=yes"
"""What marks a request as the story's own."""

_QUIET = ("/leases", "/events", "/selfsubjectaccessreviews", "dryRun=", STORY)


@dataclass(eq=False)
class World:
    """`ask` sends a request and answers with what came back as JSON, None for 404; `requests` are the lines of all that
    the API server was asked."""

    directory: Path
    operator: Operator
    ask: Ask
    requests: Callable[[], Sequence[str]]
    namespace: str = "default"
    _seen: int = 0
    _past: int = field(default=0)

    def write(self, path: str, text: str) -> Path:
        """A file in the story's directory, which may be executed if it is a script."""
        file = self.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        draft = file.parent / ".new"
        draft.write_text(text)
        draft.chmod(0o755 if text.startswith("#!") else 0o644)
        draft.rename(file)
        return file

    def module(self, name: str, files: Mapping[str, str] | None = None) -> None:
        """A module, such as `010-alpha`, with these files."""
        (self.directory / "modules" / name).mkdir(parents=True, exist_ok=True)
        for path, text in (files or {}).items():
            self.write(f"modules/{name}/{path}", text)

    def without(self, path: str) -> None:
        """Take a file or directory away."""
        found = self.directory / path
        shutil.rmtree(found) if found.is_dir() else found.unlink()

    async def start(self, ready: bool = True) -> None:
        """Start the operator, again if it has ended."""
        for place in ("modules", "global-hooks", "hooks", "told"):
            (self.directory / place).mkdir(exist_ok=True)
        self.operator.start()
        if ready:
            await self.operator.ready()

    async def stop(self) -> None:
        """End it in good order."""
        assert await self.operator.stop(SIGTERM) == 0

    async def again(self, ready: bool = True) -> None:
        """Stop the program, forget what hooks have recorded so far, and start it anew."""
        if self.operator.running():
            await self.stop()
        self.forget()
        await self.start(ready)

    # ── what users do ─────────────────────────────────────────────────────────────────────────────────────────────

    def path(self, name: str = "", resource: str = "configmaps") -> str:
        """Of an object in the namespace."""
        return f"/api/v1/namespaces/{self.namespace}/{resource}" + (f"/{name}" if name else "")

    async def create(self, name: str, data: Mapping[str, str] | None = None, **labels: str) -> None:
        """A ConfigMap."""
        await self._send("POST", self.path(), {"metadata": {"name": name, "labels": labels}, "data": dict(data or {})})

    async def delete(self, name: str, resource: str = "configmaps") -> None:
        """An object."""
        await self._send("DELETE", self.path(name, resource), None)

    async def configure(self, name: str = "hookrunner", **data: str | None) -> None:
        """Set sections of the configuration, or take them away; make it if it is not there. `GLOBAL` is `global`."""
        data = {{"GLOBAL": "global"}.get(key, key): text for key, text in data.items()}
        if await self.ask("GET", self.path(name), None) is None:
            await self.create(name)
        await self._send("PATCH", self.path(name), {"data": data})

    async def configuration(self) -> dict[str, str]:
        """The sections of the configuration."""
        return ((await self.ask("GET", self.path("hookrunner"), None)) or {}).get("data") or {}

    # ── what came of it ───────────────────────────────────────────────────────────────────────────────────────────

    async def maps(self) -> dict[str, dict[str, str]]:
        """Data of all ConfigMaps that are no configuration."""
        items = (await self.ask("GET", self.path(), None))["items"]
        found = {one["metadata"]["name"]: one.get("data") or {} for one in items}
        return {name: data for name, data in found.items() if name not in ("hookrunner", "kube-root-ca.crt")}

    async def map(self, name: str) -> dict[str, str]:
        """Data of one ConfigMap, empty if it does not exist."""
        return (await self.maps()).get(name, {})

    async def becomes(self, name: str, **data: str) -> None:
        """Wait until a ConfigMap holds just this."""
        await self.until(lambda: self.map(name), data, f"data of {name}")

    async def until(self, get: Callable[[], Awaitable[Any]], wanted: object, what: str, longest: float = 0.2) -> None:
        """Wait until something asked for anew is what is wanted; `longest` is the pause between looks (seconds)."""
        try:
            await until_is(get, wanted, what, longest)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{self.operator.story()}") from None

    async def releases(self, resource: str = "secrets") -> list[str]:
        """`name.vN status` of all records, which are Secrets unless `--helm-driver` says otherwise."""
        items = (await self.ask("GET", self.path(resource=resource), None))["items"]
        labels = [one["metadata"]["labels"] for one in items if _is_record(one)]
        return sorted(f"{one['name']}.v{one['version']} {one['status']}" for one in labels)

    def writes(self) -> list[str]:
        """Requests since the last call that write something, without the story's own, Leases, Events and questions for
        rights."""
        lines = list(self.requests())
        new, self._seen = lines[self._seen :], len(lines)
        found = [line.partition("?")[0] for line in new if is_write(line)]
        return [line.replace(f"/api/v1/namespaces/{self.namespace}/", "") for line in found]

    def told(self) -> list[dict[str, Any]]:
        """What hooks have told since the last `forget`, in order."""
        file = self.directory / "told" / "history"
        text = file.read_text() if file.exists() else ""
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()][self._past :]

    def history(self, words: str = "") -> list[str]:
        """`module/hook binding` of each run, with what sort of event it was; of those only that hold these words."""
        runs = [f"{_short(run['hook'])} {' + '.join(map(_brief, run['contexts']))}" for run in self.told()]
        return [run for run in runs if words in run]

    def counts(self) -> dict[str, int]:
        """How often each of them has been."""
        return dict(Counter(self.history()))

    def forget(self) -> None:
        """Begin the history anew."""
        self._past += len(self.told())

    async def ran(self, words: str, times: int = 1) -> list[str]:
        """Wait until so many runs hold these words."""
        return await until(
            lambda: found if len(found := self.history(words)) >= times else [],
            lambda: f"{times} runs with {words!r} in {self.history()}\n{self.operator.story()}",
        )

    async def debug(self, path: str, form: dict[str, str] | None = None) -> str:
        """What the debug socket answers; to a POST with a form. In a thread: the answer may need the sandbox."""
        return await asyncio.to_thread(ask_debug, (self.directory / "debug.socket",), path, form)

    def modules(self) -> dict[str, Any]:
        """Rows of `module list`, by name."""
        shown = json.loads(ask_debug((self.directory / "debug.socket",), "/module/list.json"))
        return {row["name"]: row for row in shown["modules"]}

    def values(self, name: str) -> Any:
        """The values of a module, as its hooks see them."""
        return json.loads(ask_debug((self.directory / "debug.socket",), f"/module/{name}/values.json"))

    async def module_is(self, name: str, **wanted: Any) -> None:
        """Wait until the row of a module says so; of texts a part is enough."""

        def holds() -> bool:
            row = self.modules().get(name)
            return row is not None and all(
                value in row[key] if isinstance(value, str) and value else row[key] == value
                for key, value in wanted.items()
            )

        try:
            await until(holds, "")
        except TimeoutError:
            raise TimeoutError(f"wanted {wanted}: {self.modules().get(name)}\n{self.operator.story()}") from None

    async def fails_often(self, name: str) -> None:
        """Have a module that fails do so six times, by edits: its next attempt then is 21 s away, so that who waits
        for that is seen to."""
        for number in range(1, 7):
            await until(lambda count=number: self.failures(name) >= count, f"failure {number} of {name}")  # type: ignore[misc]
            if number < 6:
                await self.configure(**{name: f"n: {number}"})

    def failures(self, name: str) -> float:
        """How often a module has failed."""
        return self.operator.metric("module_run_errors_total", module=name)

    async def _send(self, method: str, path: str, body: dict[str, Any] | None) -> None:
        kind = {"apiVersion": "v1", "kind": "ConfigMap"} if method == "POST" else {}
        await self.ask(method, f"{path}?{STORY}", {**kind, **body} if body else None)


def is_write(line: str) -> bool:
    """Does this request write something, as `World.writes` means it?"""
    return not line.startswith("GET") and not any(word in line for word in _QUIET)


def _is_record(obj: Any) -> bool:
    """Of a release? ConfigMaps have no type."""
    if "type" in obj:
        return bool(obj["type"] == "helm.sh/release.v1")
    return (obj["metadata"].get("labels") or {}).get("owner") == "helm"


def _short(hook: str) -> str:
    """`010-alpha/hooks/h.sh` as `alpha/h.sh`."""
    parts = hook.split("/")
    return f"global/{parts[-1]}" if parts[0] == "global-hooks" else f"{parts[1].split('-', 1)[-1]}/{parts[-1]}"


def _brief(context: Mapping[str, Any]) -> str:
    name = [context["filterResult"]] if "filterResult" in context else []
    return " ".join(map(str, [context["binding"], *[context.get("type")] * ("type" in context), *name]))
