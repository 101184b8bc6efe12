"""Every command of the command line that talks to a cluster, or to a hookrunner that does, runs once on a real control
plane. A new command without a case fails, unless it is in `OFFLINE`.

The sandbox is not enough: `addon abandon` worked there, and ended with a traceback on every real API server.

Level: control plane.
"""

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from signal import SIGTERM
from typing import Any

import click

from hookrunner.cli.main import cli
from tests import launcher
from tests.cloud.scenarios.documents import SIMCLOUD
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.processes import free_port
from tests.flows.modules.test_addon_instances import ADDON, MANIFEST, SPEC, THINGS, channel
from tests.flows.operator import Operator, oops
from tests.flows.scripts import configmaps, hook
from tests.flows.waiting import until
from tests.trees import write_files

OFFLINE = {
    "addon crd": "prints what files of --addons-dir define",
    "addon images": "makes objects of files",
    "addon lint": "reads files",
    "addon mirror": "copies packages: tests/flows/addons/test_air_gap.py",
    "addon seal": "writes beside files",
    "addon test": "runs cases without a cluster",
    "cloud call": "asks a provider, without a cluster",
    "cloud check": "asks a provider, without a cluster",
    "cloud rbac": "prints rights that follow from flags",
    "completion": "prints a script",
    "debug-options": "prints flags",
    "hook config": "asks a hook for its configuration",
    "hook lint": "reads files",
    "hook run": "runs a hook on objects of files",
    "hook test": "runs cases without a cluster",
    "module lint": "reads files",
    "module test": "runs cases without a cluster",
    "rbac": "computes rights from files",
    "new addon": "writes files",
    "new hook": "writes files",
    "new module": "writes files",
    "new provider": "writes files",
    "sandbox": "is the cluster: tests/cli/test_sandbox.py",
    "shell-lib": "prints a path",
    "version": "prints a version",
}
"""Why these commands need no cluster."""

RUNNING = {
    "queue list -e": "Empty queues",
    "queue main": "Queue 'main'",
    "hook list": r"watch\.sh",
    "hook snapshot watch.sh": "cms",
    "config list": r"log\.level",
    "config set log.level debug": "",
    "raw /queue/main.yaml": "name: main",
    "debug tasks": "task",
    "module list": r"alpha +10 +0.1.0 +ready(.|\n)*ConfigMap/of-alpha: \.datta \(did you mean 'data'\?\)",
    "module values alpha": "text: two",
    "module config alpha": "text: two",
    "module render alpha --diff": "No diff found",
    "module render alpha --modules-dir modules --kube-config kubeconfig": "text: one",
    "module graph": "alpha",
    "module patches alpha": r"\[\]",
    "module snapshots alpha": "pods",
    "module resource-monitor": "of-alpha",
    "module adopt alpha": "nothing was to be taken over",
    "module rollback alpha": "alpha",
    "global list": r"zone\.sh",
    "global values": "zone: z",
    "global config": "null",
    "global patches": r"\[\]",
    "global snapshots": "cms",
    "addon list": r"thing/x|x +1\.0\.0",
    "addon values thing/x": "text: two",
    "addon config thing/x": "text: two",
    "addon render thing/x --diff": "No diff found",
    "addon objects thing/x": "ConfigMap default/.* +Current",
    "addon patches thing/x": r"\[\]",
    "addon snapshots thing/x": r"\{\}",
    "addon versions thing": r"2\.0\.0",
    "addon rollback thing/x": "at revision 3 now",
    "cloud status": "simcloud",
    "cloud release": "no deletion is held",
    "cloud orphans": "no orphans",
    "cloud clean --cloud-provider SIMCLOUD --cloud-config cloud.json": "default/web: its load balancer would go",
    "webhooks list": "https://127.0.0.1:.*/hooks/",
}
"""Lines that users type while hookrunner runs, in this order, and what is printed."""

NOTICED = {
    "status": r"ready, . things? needs? you(.|\n)*waiting +module alpha: revision 3 is an earlier one(.|\n)*leader",
    "status -o json": '"state":"ready"',
}
"""The same for commands that end with 3: something needs the user."""

STOPPED = {
    "addon abandon thing/x": "release default/thing.default.x: 1 objects left, records deleted\n"
    "thing/x: not managed any more",
    "cloud adopt": "free: would be tainted",
    "cloud adopt free --yes": "free: tainted",
    "cloud clean --yes --reserve 0s --cloud-provider SIMCLOUD --cloud-config cloud.json": "nothing is left",
    "webhooks remove --webhook-url URL": "webhooks taken out",
    "webhooks list": "no hookrunner has registered anything",
}
"""The same after its end."""

STARTED = {
    "start": "",
    "cloud start --listen-port 0 --cloud-provider SIMCLOUD --cloud-config cloud.json": "became leader",
}
"""Commands that run until they are stopped. The first is the hookrunner that the others ask."""
TO_FIND = {"addons.x-k8s.io/thing": "x"}
"""The label by which users of an instance find its objects, hookrunner or not."""


def commands(command: click.Command = cli, path: tuple[str, ...] = ()) -> Iterator[str]:
    """All commands, as their words."""
    if not isinstance(command, click.Group):
        yield " ".join(path)
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        found = command.get_command(context, name)
        assert found
        yield from commands(found, (*path, name))


def test_each_command_has_a_case_on_a_cluster_or_needs_none() -> None:
    every = {*commands()}
    cases = {
        name for name in every for line in (*RUNNING, *NOTICED, *STOPPED, *STARTED) if f"{line} ".startswith(f"{name} ")
    }
    assert {*OFFLINE} <= every
    assert every - cases == {*OFFLINE}


CONFIGMAPS, NODES = "/api/v1/namespaces/default/configmaps", "/api/v1/nodes"
SERVICES = "/api/v1/namespaces/default/services"
DIRECTORIES = ("modules-dir", "global-hooks-dir", "addons-dir")
RULE = {"apiGroups": ["example.com"], "apiVersions": ["*"], "resources": ["*"], "operations": ["*"]}
VALIDATING = {"kubernetesValidating": [{"name": "a.example.com", "rules": [RULE]}]}
MAP = (
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: of-alpha}, data: {text: '{{ .Values.alpha.text }}'}, datta: {}}"
)
MISSPELT = "datta: {}\n"
FILES = {
    "modules/values.yaml": "global: {zone: z}\nalphaEnabled: true\nalpha: {text: one}\n",
    "modules/010-alpha/Chart.yaml": "{name: alpha, version: 0.1.0, apiVersion: v2}",
    "modules/010-alpha/templates/a.yaml": MAP,
    "modules/010-alpha/hooks/pods.sh*": hook({"kubernetes": [configmaps("default", name="pods")]}),
    "global-hooks/zone.sh*": hook({"kubernetes": [configmaps("default")]}),
    "addons/thing/addon.yaml": ADDON,
    "addons/thing/openapi/spec.yaml": SPEC,
    "addons/thing/channels/stable": channel("1.0.0"),
    **{
        f"addons/thing/channels/packages/thing/{version}/{file}": text
        for version in ("1.0.0", "2.0.0")
        for file, text in {
            "package.yaml": "description: a map\n",
            "a.yaml": MANIFEST.format(version=version) + MISSPELT,
        }.items()
    },
}


class Site:
    """A cluster with a bit of everything that commands show, and a hookrunner that runs with it."""

    def __init__(self, directory: Path, cluster: OwnCluster) -> None:
        self.directory, self.cluster, self.url = directory, cluster, f"https://127.0.0.1:{free_port()}"
        (directory / "kubeconfig").symlink_to(cluster.kubeconfig)
        self.environ = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        cloud = (f"--cloud-provider={SIMCLOUD}", f"--cloud-config={directory / 'cloud.json'}")
        places = [f"--{name}={directory / name.removesuffix('-dir')}" for name in DIRECTORIES]
        webhooks = (f"--webhook-url={self.url}", f"--webhook-port={self.url.rpartition(':')[2]}")
        flags = (*places, *webhooks, *cloud, "--namespace=default")
        self.operator = Operator(directory, cluster.kubeconfig, flags, environ=self.environ)
        write_files(directory, FILES)
        self.operator.write_hooks({"watch.sh": hook({"kubernetes": [configmaps("default")], **VALIDATING})})

    def run(self, line: str) -> tuple[int, str]:
        """The exit code of a command line, and what it prints."""
        ended = launcher.run(self._words(line), cwd=self.directory, env=self._environ())
        return ended.returncode, ended.stdout + ended.stderr

    def run_until(self, line: str, words: str) -> int:
        """The exit code of a command that is stopped when it has printed these words."""
        program, printed = launcher.start_piped(self._words(line), cwd=self.directory, env=self._environ())
        with printed:
            assert any(words in text for text in printed)
            program.send_signal(SIGTERM)
            return program.wait()

    def _words(self, line: str) -> list[str]:
        return line.replace("SIMCLOUD", str(SIMCLOUD)).replace("URL", self.url).split()

    def _environ(self) -> dict[str, str]:
        own = {"KUBECONFIG": str(self.cluster.kubeconfig), "TMPDIR": str(self.directory), "HOME": str(self.directory)}
        return {**os.environ, **self.environ, **own, "HOOKRUNNER_DEBUG_UNIX_SOCKET": f"{self.directory}/debug.socket"}

    def faults(self, lines: dict[str, str], code: int = 0) -> dict[str, tuple[int, str]]:
        """Those of the lines that do not end with this code, or print something else."""
        ended = {line: self.run(line) for line in lines}
        return {line: end for line, end in ended.items() if end[0] != code or not re.search(lines[line], end[1])}

    def get(self, path: str) -> Any:
        return self.cluster.request("GET", path).body

    def text(self, name: str) -> str:
        """Of a ConfigMap."""
        return str((self.get(f"{CONFIGMAPS}/{name}").get("data") or {}).get("text"))

    async def install(self) -> None:
        """Two revisions of a module and of an instance, a load balancer, and a Node that the cloud does not know."""
        create, request = self.cluster.create, self.cluster.request
        create(NODES, {"metadata": {"name": "free"}})
        create(SERVICES, {"metadata": {"name": "web"}, "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}})
        await until(lambda: "items" in (self.get(THINGS) or {}), "the kind")
        create(
            THINGS, {"apiVersion": "addons.x-k8s.io/v1alpha1", "kind": "Thing", "metadata": {"name": "x"}, "spec": {}}
        )
        await until(lambda: (self.text("of-thing"), self.text("of-alpha")) == ("hi", "one"), "the first revisions")
        request("PATCH", f"{THINGS}/x", {"spec": {"text": "two"}})
        create(CONFIGMAPS, {"metadata": {"name": "hookrunner"}, "data": {"alpha": "text: two"}})
        await until(lambda: (self.text("of-thing"), self.text("of-alpha")) == ("two", "two"), "the second revisions")
        await until(lambda: self.get(f"{THINGS}/x").get("status", {}).get("phase") == "Current", "its status")
        await until(lambda: self.get(f"{SERVICES}/web")["status"]["loadBalancer"], "the load balancer")
        await self.operator.ready()

    def require_misspelt_fields_to_be_reported_and_left_alone(self) -> None:
        """`addon render --diff` and `module render --diff` have found nothing to do by now."""
        (known,) = [
            entry for entry in self.get(f"{THINGS}/x")["status"]["conditions"] if entry["type"] == "FieldsKnown"
        ]
        assert (known["status"], known["reason"]) == ("False", "UnknownFields")
        assert known["message"].endswith("default/ConfigMap/of-thing: .datta (did you mean 'data'?)")
        shown = json.loads(self.operator.get("/readyz?output=json")[1])["conditions"]
        assert any("ConfigMap/of-alpha: .datta (did you mean 'data'?)" in condition["message"] for condition in shown)
        reasons = [event["reason"] for event in self.get("/api/v1/namespaces/default/events")["items"]]
        assert (reasons.count("UnknownFields"), reasons.count("Repaired")) == (1, 0)
        assert [record for record in self.operator.logs() if record.get("msg") == "objects repaired"] == []


async def test_each_command_works_on_a_real_api_server(own_cluster: OwnCluster, tmp_path: Path) -> None:
    site = Site(tmp_path, own_cluster)
    site.operator.start()
    try:
        await site.operator.ready()
        await site.install()
        assert site.faults(RUNNING) == {}
        assert site.faults(NOTICED, 3) == {}
        await until(lambda: (site.text("of-thing"), site.text("of-alpha")) == ("hi", "one"), "both rollbacks")
        site.require_misspelt_fields_to_be_reported_and_left_alone()
        assert await site.operator.stop() == 0
        assert oops(site.operator.logs()) == []
    finally:
        site.operator.kill()
        print(site.operator.story())
    # As `abandon` left it when it could not read its records: hookrunner has let it go, and everything else is there.
    own_cluster.request("PATCH", f"{THINGS}/x", {"metadata": {"annotations": {"hookrunner.io/unmanaged": "true"}}})
    assert [site.run_until(line, words) for line, words in STARTED.items() if words] == [0]
    assert site.faults(STOPPED) == {}
    left = site.get(f"{CONFIGMAPS}/of-thing")["metadata"]
    assert [left.get(key) for key in ("labels", "annotations", "ownerReferences")] == [TO_FIND, None, None]
    assert "finalizers" not in site.get(f"{THINGS}/x")["metadata"]
