"""A reader of docs/bootstrap.md, who writes its files, types its commands and compares what is shown; and what kubelets
do meanwhile."""

import asyncio
import os
import re
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import yaml

from kubetypes.json_values import JSON
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.kubeconfig import read_kubeconfig
from tests.controlplane.processes import free_port
from tests.controlplane.tools import find_tool
from tests.faults.proxy import Proxy
from tests.flows.bootstrap.pod_process import PodProcess
from tests.flows.waiting import until, until_is
from tests.pages import DOCS, Console, File, steps

PAGE = "bootstrap.md"
INSIDE = re.compile(r"kubectl exec --namespace \S+ (\S+) -- hookrunner (.*)")


@dataclass(eq=False)
class PageWorld:
    """`proxy` is the API server that Pods know, `pods` are the processes by the names that `kubectl exec` gives them,
    `port` is hookrunner's."""

    cluster: OwnCluster
    proxy: Proxy
    directory: Path
    port: int = field(default_factory=free_port)
    pods: dict[str, PodProcess] = field(default_factory=dict)
    _followed: set[str] = field(default_factory=set)

    def write_files(self) -> None:
        """The page's files. Only addresses and ports are others: the Pods share this machine's network with tests."""
        for step in steps(PAGE):
            if isinstance(step, File):
                step.write(self.directory)
        file = self.directory / "bootstrap.yaml"
        values = yaml.safe_load(file.read_text())
        (manager,) = (obj for obj in values["addons"]["instances"] if obj["kind"] == "CloudControllerManager")
        host, port = self.proxy.url.removeprefix("https://").split(":")
        for settings, own_port in ((values, self.port), (manager["spec"]["deploy"], free_port())):
            assert set(settings["kubernetesEndpoint"]) == {"host", "port"}
            settings |= {"kubernetesEndpoint": {"host": host, "port": int(port)}, "port": own_port}
        file.write_text(yaml.safe_dump(values))

    async def follow(self, section: str) -> None:
        """Type the commands of a section; each shows, at once or a moment later, what the page says."""
        for command, shown in commands(section):
            await self._compare(command, re.compile(as_pattern(shown.splitlines()), re.MULTILINE))
            self._followed.add(command)

    def unfollowed(self) -> set[str]:
        """The page's commands that were not typed."""
        return {command for command, _ in commands("")} - self._followed

    async def run(self, name: str, workload: str) -> PodProcess:
        """Start a workload's container as soon as the scheduler has put its Pod on a Node."""
        await until(lambda: self.nodes_of(workload), lambda: f"a Pod of {workload} is placed\n{self.story()}")
        ca, root = read_kubeconfig(self.proxy.kubeconfig).ca, self.directory / f"p{len(self.pods)}"
        pod = self.pods[name] = PodProcess(self.cluster, workload, ca, root)
        pod.start()
        return pod

    def nodes_of(self, workload: str) -> list[str]:
        """The Nodes on which Pods of the workload are."""
        found = self.cluster.request("GET", workload).body
        if found["kind"] == "Status":
            return []
        labels = ",".join(f"{name}={value}" for name, value in found["spec"]["selector"]["matchLabels"].items())
        pods = f"/api/v1/namespaces/{found['metadata']['namespace']}/pods?labelSelector={quote(labels)}"
        return [pod["spec"]["nodeName"] for pod in self.items(pods) if "nodeName" in pod["spec"]]

    def items(self, path: str) -> list[JSON]:
        """The objects of a collection; none if their kind is not served yet."""
        found: list[JSON] = self.cluster.request("GET", path).body.get("items", [])
        return found

    def story(self) -> str:
        """The ends of all logs."""
        return "\n".join(pod.story() for pod in self.pods.values())

    async def _compare(self, command: str, pattern: re.Pattern[str]) -> None:
        printed = ""

        async def is_shown() -> bool:
            nonlocal printed
            printed = await self._type(command)
            return bool(pattern.search(printed))

        try:
            await until_is(is_shown, True, command)
        except TimeoutError as error:
            raise TimeoutError(f"{error}\n{printed}\n{self.story()}") from None

    async def _type(self, command: str) -> str:
        """One line of the page; what it prints."""
        if inside := INSIDE.fullmatch(command):
            return await asyncio.to_thread(self.pods[inside[1]].execute, *inside[2].split())
        tools = ":".join(str(find_tool(name).parent) for name in ("kubectl", "helm"))
        own = {"KUBECONFIG": str(self.cluster.kubeconfig), "HOME": str(self.directory)}
        environ = {**os.environ, **own, "PATH": f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
        child = await asyncio.create_subprocess_shell(
            command, cwd=self.directory, env=environ, stdout=PIPE, stderr=STDOUT
        )
        return (await child.communicate())[0].decode()


def commands(section: str) -> list[tuple[str, str]]:
    """The commands of a section, or of the page, each with what it shows."""
    page = (DOCS / PAGE).read_text()
    part = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0] if section else page
    found = [pair for step in steps(PAGE) if isinstance(step, Console) for pair in step.commands]
    return [(command, shown) for command, shown in found if f"\n$ {command}\n" in part]


def as_pattern(lines: Iterable[str]) -> str:
    """What matches these lines in this order, with any space between words; `…` is any text within a line."""
    words = ([re.escape(word).replace("…", ".*") for word in line.split()] for line in lines)
    return r"[\s\S]*".join(r"[ \t]+".join(line) for line in words)
