"""The container of a workload in the cluster, as a process: its words, its variables, its files and the rights of its
account are read from the API server, as a kubelet does.

No kubelet runs here. A path of the image or of a mount leads to a directory of the test, the account's token is in a
kubeconfig in place of a mounted file, and neither user, limits nor probes are part of it.
"""

import base64
import json
import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from signal import SIGKILL, SIGTERM
from typing import Any

from kubetypes.json_values import JSON
from tests import launcher
from tests.controlplane.cluster import Cluster
from tests.controlplane.kubeconfig import Access, write_kubeconfig
from tests.controlplane.processes import tethered
from tests.controlplane.tools import find_tool
from tests.flows.operator import whole_lines
from tests.flows.waiting import until

ROOT = Path(__file__).parents[3]
IMAGE = {name: ROOT / name for name in ("addons", "providers")}
"""Directories of the image."""
SETTINGS = dict(
    entry.split("=", 1)
    for line in re.findall(r"^ENV (.*)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    for entry in line.split()
)
"""Variables of the image."""
PATH = re.compile(r"(^|[:=])/(?=[a-z])")


@dataclass(frozen=True, slots=True)
class Container:
    """What is executed: words, variables, and whether the words begin with a program other than the image's."""

    words: list[str]
    environ: dict[str, str]
    has_command: bool


@dataclass(eq=False)
class PodProcess:
    """`workload` is the path of a Deployment, a DaemonSet or a Job in the API, `ca` a file: whom Pods trust; `root` a
    directory that stays when the process ends, as an emptyDir does when a container restarts. The API is asked at the
    first start only."""

    cluster: Cluster
    workload: str
    ca: Path
    root: Path
    _container: Container | None = None
    _process: launcher.Program | subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, at first or again."""
        container = self._container = self._container or self._read()
        with (self.root / "log").open("ab") as log:
            if container.has_command:
                program = shutil.which(container.words[0]) or container.words[0]
                self._process = subprocess.Popen(
                    tethered(program, *container.words[1:]),
                    cwd=self.root,
                    env=container.environ,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            else:
                number = log.fileno()
                self._process = launcher.start(
                    container.words, cwd=self.root, env=container.environ, stdout=number, stderr=number
                )

    def execute(self, *words: str) -> str:
        """What `kubectl exec WORKLOAD -- hookrunner WORDS` prints."""
        assert self._container is not None
        return launcher.run(words, cwd=self.root, env=self._container.environ).stdout

    async def end(self, number: int = SIGTERM) -> int:
        """Send a signal and wait for the end; the exit code."""
        assert self._process is not None
        self._process.send_signal(number)
        return await self.ended()

    async def ended(self) -> int:
        """Wait for its end; the exit code."""
        process = self._process
        assert process is not None
        await until(lambda: process.poll() is not None, lambda: f"the end of {self.workload}\n{self.story()}")
        return int(process.wait())

    def kill(self) -> None:
        """End it at once, if it runs."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(SIGKILL)
            self._process.wait()

    def records(self) -> list[dict[str, Any]]:
        """The log, whose lines are JSON in the image."""
        return [json.loads(line) for line in whole_lines(self.root / "log") if line.startswith("{")]

    def story(self) -> str:
        """The end of its output, for the reader of a failure."""
        log = self.root / "log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-15:]) if log.exists() else ""

    def _read(self) -> Container:
        pod = self.cluster.request("GET", self.workload).body["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        self._make_files(pod, container)
        command = container.get("command", [])
        words = [*command, *container.get("args", [] if command else ["start"])]
        own = {entry["name"]: entry.get("value", self._namespace()) for entry in container.get("env", [])}
        environ = {name: self._inside(text) for name, text in {**SETTINGS, **own}.items()}
        tools = f"{find_tool('kubectl').parent}:{os.environ['PATH']}"
        account = self._make_kubeconfig(pod["serviceAccountName"], own)
        environ |= {"PATH": tools, "KUBECONFIG": str(account), "KUBECACHEDIR": str(self.root / "tmp")}
        return Container([self._inside(word) for word in words], environ, bool(command))

    def _make_files(self, pod: JSON, container: JSON) -> None:
        """The image's directories, and what is mounted."""
        self.root.mkdir()
        for name, source in IMAGE.items():
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).symlink_to(source)
        for name in ("hooks", "global-hooks", "tmp"):
            (self.root / name).mkdir()
        volumes = {volume["name"]: volume for volume in pod.get("volumes", [])}
        for mount in container.get("volumeMounts", []):
            directory = self.root / mount["mountPath"].strip("/")
            directory.mkdir(parents=True, exist_ok=True)
            for name, content in self._read_volume(volumes[mount["name"]]).items():
                (directory / name).write_bytes(content)

    def _read_volume(self, volume: JSON) -> Mapping[str, bytes]:
        """The files of a Secret or a ConfigMap, by their names; none of an emptyDir."""
        core = f"/api/v1/namespaces/{self._namespace()}"
        if "secret" in volume:
            data = self.cluster.request("GET", f"{core}/secrets/{volume['secret']['secretName']}").body["data"]
            return {name: base64.b64decode(text) for name, text in data.items()}
        if "configMap" in volume:
            data = self.cluster.request("GET", f"{core}/configmaps/{volume['configMap']['name']}").body["data"]
            return {name: text.encode() for name, text in data.items()}
        return {}

    def _make_kubeconfig(self, account: str, variables: Mapping[str, str]) -> Path:
        """It leads where the container's own variables do. Without these a Pod has those of the Service
        `default/kubernetes`, which works nowhere here."""
        path = f"/api/v1/namespaces/{self._namespace()}/serviceaccounts/{account}/token"
        token = self.cluster.create(path, {"spec": {"expirationSeconds": 3600}})["status"]["token"]
        host, port = variables["KUBERNETES_SERVICE_HOST"], variables["KUBERNETES_SERVICE_PORT"]
        return write_kubeconfig(self.root / "account", Access(f"https://{host}:{port}", self.ca, token))

    def _inside(self, text: str) -> str:
        return PATH.sub(rf"\1{self.root}/", text)

    def _namespace(self) -> str:
        return self.workload.split("/")[-3]
