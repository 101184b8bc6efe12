"""An operator on the sandbox: each kind of binding, and bad days, which `/_sandbox` and `kill -9` bring.

Level: sandbox."""

import itertools
import json
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any

from tests.cli.test_sandbox import sandbox
from tests.controlplane.processes import free_port
from tests.flows.operator import Operator, oops
from tests.flows.scripts import HOLD, configmaps, hook, patching, watching
from tests.flows.waiting import stays, until
from tests.sandboxes import read_access

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
EACH_SECOND = {"name": "tick", "crontab": "* * * * * *"}
DELETE_BAD = patching([{"operation": "Delete", "kind": "ConfigMap", "namespace": "default", "name": "bad"}], '"bad"')
DEFINITION = {
    "metadata": {"name": "things.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"kind": "Thing", "plural": "things"},
        "scope": "Namespaced",
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    },
}


class Api:
    """The sandbox of a kubeconfig; plain requests, which take milliseconds."""

    def __init__(self, kubeconfig: Path) -> None:
        self._access = read_access(kubeconfig)

    def ask(self, method: str, path: str, body: object = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json", **self._access.headers}
        asked = urllib.request.Request(self._access.url + path, data, headers, method=method)
        with urllib.request.urlopen(asked, context=self._access.tls) as answer:
            return json.load(answer)

    def create(self, name: str) -> None:
        """A ConfigMap."""
        self.ask("POST", CONFIGMAPS, {"metadata": {"name": name}})

    def asked(self) -> int:
        """How often ConfigMaps were asked for by others."""
        lines = self.ask("GET", "/_sandbox/requests")["requests"]
        return sum(line.startswith(f"GET {CONFIGMAPS}") for line in lines)

    def names(self) -> list[str]:
        """Of all ConfigMaps."""
        return [item["metadata"]["name"] for item in self.ask("GET", CONFIGMAPS)["items"]]


@asynccontextmanager
async def operating(tmp_path: Path, scripts: dict[str, str], *flags: str) -> AsyncIterator[Operator]:
    """An operator on the sandbox of the kubeconfig `kc`. It must end well, and without errors of its own."""
    program = Operator(tmp_path, tmp_path / "kc", flags)
    program.write_hooks(scripts)
    program.start()
    try:
        await program.ready()
        yield program
        assert await program.stop() == 0
        assert oops(program.logs()) == []
    finally:
        program.kill()


async def test_hooks_of_every_kind_run_on_a_sandbox_in_the_same_process(tmp_path: Path) -> None:
    scripts = {
        "custom.sh": hook({"kubernetes": [{"name": "things", "apiVersion": "example.com/v1", "kind": "Thing"}]}),
        "events.sh": watching("default", DELETE_BAD),
        "group.sh": hook({"kubernetes": [configmaps("default", group="g")]}),
        "startup.sh": hook({"onStartup": 1}),
        "tick.sh": hook({"kubernetes": [configmaps("default")], "schedule": [EACH_SECOND]}),
        "v0.sh": hook({"onKubernetesEvent": [{"name": "v0", "kind": "configmap", "event": ["add"]}]}),
    }
    (tmp_path / "things.yaml").write_text(
        json.dumps({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", **DEFINITION})
    )
    flags = ("--sandbox", f"--sandbox-kubeconfig={tmp_path / 'own'}", f"--seed={tmp_path / 'things.yaml'}")
    async with operating(tmp_path, scripts, *flags) as program:
        api = Api(tmp_path / "own")
        thing = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}}
        api.ask("POST", "/apis/example.com/v1/namespaces/default/things", thing)
        api.create("bad")
        await until(lambda: ("Deleted", "bad") in program.events("events.sh"), "what a hook asked for")
        assert await program.hears("custom.sh", 1) == [("Added", "t")]
        await program.has_run("group.sh", 2)
        await program.has_run("v0.sh")
        await until(lambda: "Schedule" in {found["type"] for found in program.contexts("tick.sh")}, "a tick")
        assert [found["binding"] for found in program.contexts("startup.sh")] == ["onStartup"]
        assert api.names() == []


async def test_operations_applied_during_the_stop_are_in_the_data_file(tmp_path: Path) -> None:
    """The sandbox in the same process ends last."""
    late = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "late", "namespace": "default"}}
    flags = ("--sandbox", f"--sandbox-kubeconfig={tmp_path / 'own'}", f"--data={tmp_path / 'data'}")
    program = Operator(tmp_path, tmp_path / "none", flags)
    program.write_hooks({"h.sh": hook({"onStartup": 1}, HOLD + patching([{"operation": "Create", "object": late}]))})
    program.start()
    try:
        await program.has_run("h.sh")
        program.send(SIGTERM)
        await program.wait_log("waiting up to")
        program.tell("go")
        assert await program.ended() == 0
    finally:
        program.kill()
    async with sandbox(tmp_path, "--data", str(tmp_path / "data")):
        assert Api(tmp_path / "kc").names() == ["late"]


async def test_files_of_a_killed_run_are_removed_by_the_next_start(tmp_path: Path) -> None:
    """Those that the user keeps are in no directory of the process."""
    program = Operator(tmp_path, tmp_path / "none", ("--sandbox", f"--sandbox-kubeconfig={tmp_path / 'own'}"))
    program.write_hooks({"h.sh": hook({"onStartup": 1}, HOLD)})
    program.start()
    try:
        await program.has_run("h.sh")
        await program.stop(SIGKILL)
        left = [*(tmp_path / "tmp").glob("hookrunner-run-*/hook-h-sh-binding-context-*")]
        assert len(left) == 1
        program.tell("go")
        program.flags = (*program.flags, "--debug-keep-tmp-files")
        program.start()
        await program.ready()
        assert not left[0].exists()
        assert await program.stop() == 0
    finally:
        program.kill()
    assert len([*(tmp_path / "tmp").glob("hook-h-sh-binding-context-*")]) == 1
    assert [*(tmp_path / "tmp").glob("hookrunner-*")] == []


async def test_without_hooks_the_log_says_so(tmp_path: Path) -> None:
    (tmp_path / "hooks").mkdir()
    async with operating(tmp_path, {}, "--sandbox", f"--sandbox-kubeconfig={tmp_path / 'own'}") as program:
        assert (await program.wait_log("there are no hooks"))["path"] == str(tmp_path / "hooks")


async def test_the_log_does_not_say_that_there_are_no_hooks_where_all_were_left_out(tmp_path: Path) -> None:
    flags = ("--sandbox", f"--sandbox-kubeconfig={tmp_path / 'own'}", "--on-bad-hook=skip")
    async with operating(tmp_path, {"bad.sh": "#!/bin/bash\nexit 3\n"}, *flags) as program:
        assert (await program.wait_log("no hook is left"))["left_out"] == 1
        assert not [record for record in program.logs() if "there are no hooks" in record["msg"]]


async def test_several_replicas_of_hooks_that_only_answer_webhooks_are_no_problem(tmp_path: Path) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
    webhook = hook({"kubernetesValidating": [{"name": "a.example.com", "rules": [rule]}]})
    port = free_port()
    flags = ("--sandbox", f"--sandbox-kubeconfig={tmp_path / 'own'}", "--ha", f"--webhook-port={port}")
    async with operating(tmp_path, {"a.sh": webhook}, *flags, f"--webhook-url=https://127.0.0.1:{port}") as program:
        assert json.loads(program.command("status", "-o", "json"))["needs"] == []


async def test_a_sandbox_killed_and_restarted_with_its_data_loses_no_event(tmp_path: Path) -> None:
    """Of the time before, while the sandbox is away, and after."""
    flags = ("--data", str(tmp_path / "data"), "--port", str(free_port()))
    async with sandbox(tmp_path, *flags) as (first, _):
        api = Api(tmp_path / "kc")
        async with operating(tmp_path, {"h.sh": watching("default")}) as program:
            api.create("before")
            await program.hears("h.sh", 1)
            api.create("at-the-end")
            first.program.send_signal(SIGKILL)
            await first.ended()
            async with sandbox(tmp_path, *flags):
                api.create("after")
                told = await program.hears("h.sh", 3)
                assert sorted(told) == [("Added", "after"), ("Added", "at-the-end"), ("Added", "before")]
                await program.ready()
                api.ask("DELETE", f"{CONFIGMAPS}/before")
                assert (await program.hears("h.sh", 4))[-1] == ("Deleted", "before")


BAD_DAYS: dict[str, dict[str, object]] = {
    "unavailable": {"what": "answer", "status": 503, "times": 3},
    "too many requests": {"what": "answer", "status": 429, "retry_after": 1, "times": 1},
    "gone": {"what": "answer", "status": 410, "times": 1},
    "no answer": {"what": "refuse", "times": 3},
    "slow": {"what": "delay", "seconds": 0.5},
    "half a line": {"what": "garble", "times": 2},
    "silence": {"what": "stall"},
}
"""Each happens to lists and watches of ConfigMaps, after the open watch was cut."""


async def test_no_fault_loses_or_repeats_an_event(tmp_path: Path) -> None:
    """One bad day after the other. Silence lasts until the operator has asked again."""
    names = (f"n-{number:02}" for number in itertools.count())
    async with sandbox(tmp_path):
        api = Api(tmp_path / "kc")
        async with operating(tmp_path, {"h.sh": watching("default")}, "--watch-idle-timeout=2s") as program:
            for fault in BAD_DAYS.values():
                await until(lambda: api.ask("POST", "/_sandbox/cut")["watches"], f"a watch to cut before {fault}")
                api.ask("POST", "/_sandbox/faults", {"match": f"GET {CONFIGMAPS}", **fault})
                api.create(next(names))
                asked = api.asked()
                await until(lambda: api.asked() > asked + 1, f"the operator tries again after {fault}")  # noqa: B023
                api.create(next(names))
                api.ask("DELETE", "/_sandbox/faults")
                await program.hears("h.sh", int(api.names()[-1][2:]) + 1)
            await stays(lambda: len(program.events("h.sh")) == len(api.names()), "each is reported once", 0.5)
            assert program.events("h.sh") == [("Added", name) for name in api.names()]
            await until(lambda: watches(program)[-1] == "watch restored", "the last watch is back")
            assert watches(program).count("watch lost") > 0


def watches(program: Operator) -> list[str]:
    """What the log says of them."""
    return [record["msg"] for record in program.logs() if record["msg"].startswith(("watch lost", "watch restored"))]


async def test_expired_watches_lose_and_repeat_no_event(tmp_path: Path) -> None:
    """410 in the stream, and 410 for the revision to go on from."""
    async with sandbox(tmp_path):
        api = Api(tmp_path / "kc")
        async with operating(tmp_path, {"h.sh": watching("default")}) as program:
            for number in range(4):
                await until(lambda: api.ask("POST", "/_sandbox/expire?match=watch")["watches"], "an open watch")
                api.create(f"n-{number}")
                api.ask("POST", "/_sandbox/compact")
            await program.hears("h.sh", 4)
            await stays(lambda: len(program.events("h.sh")) == 4, "each is reported once", 0.5)
            assert sorted(program.events("h.sh")) == [("Added", f"n-{number}") for number in range(4)]
