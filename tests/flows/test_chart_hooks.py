"""Hooks of the chart, alone and beside modules, under each name of the program: the rendered container is started as a
process, with its image's directories, variables and working directory below a directory of the test.

Level: sandbox."""

import asyncio
import os
import subprocess
from pathlib import Path
from signal import SIGTERM

import pytest

from kubesandbox.sandbox import Sandbox
from tests import launcher
from tests.controlplane.processes import free_port
from tests.fakes.chart import CHART, objects
from tests.flows.scripts import hook
from tests.flows.waiting import until
from tests.image.test_dockerfile import last
from tests.sandboxes import sandbox
from tests.trees import write_files

__all__ = ["sandbox"]

STARTS = (("/usr/local/bin/hookrunner", "start"), ("/shell-operator",), ("/addon-operator",))
"""What tini starts: the image's entry point and command, and entry points of the predecessors (`docs/migration.md`)."""
HOOK = hook({"onStartup": 1})
MODULES = {"modules/values.yaml": "aEnabled: true\n", "modules/010-a/hooks/m.sh*": HOOK}


class ChartPod:
    """The Pod of the chart whose root is `root`: absolute paths of the image and of the container are below it."""

    def __init__(self, root: Path, helm: Path, value: str) -> None:
        write_files(root, {"a.sh": HOOK, "told/": "", "tmp/": "", "global-hooks/": "", **MODULES})
        values = f"{value},port={free_port()},env[0].name=TOLD,env[0].value=/told"
        words = [
            str(helm),
            "template",
            "watch",
            str(CHART),
            "--set-file",
            f"hooks.a\\.sh={root / 'a.sh'}",
            "--set",
            values,
        ]
        manifests = subprocess.run(words, capture_output=True, text=True, check=True).stdout
        rendered = objects(manifests)
        (self._container,) = rendered["Deployment"]["spec"]["template"]["spec"]["containers"]
        write_files(root, {f"hooks/{name}*": text for name, text in rendered["ConfigMap"]["data"].items()})
        self.root = root

    def start(self, words: tuple[str, ...], kubeconfig: Path) -> launcher.Program:
        assert not {"command", "args", "workingDir"} & self._container.keys(), "the image's are started here"
        environ = dict(pair.split("=") for pair in last("ENV").split())
        environ |= {entry["name"]: entry.get("value", "default") for entry in self._container["env"]}
        placed = {name: self._placed(value) for name, value in environ.items()}
        with (self.root / "log").open("wb") as log:
            return launcher.start(
                [*map(self._placed, words)],
                cwd=Path(self._placed(last("WORKDIR"))),
                env={"PATH": os.environ["PATH"], "KUBECONFIG": str(kubeconfig), **placed},
                stdout=log.fileno(),
                stderr=log.fileno(),
            )

    def ran(self) -> set[str]:
        """Which hooks have run."""
        return {path.name.removesuffix(".jsonl") for path in (self.root / "told").iterdir()}

    def _placed(self, value: str) -> str:
        return f"{self.root}{value}" if value.startswith("/") else value


@pytest.mark.parametrize(
    ("modules", "hooks"), [("false", {"a.sh"}), ("true", {"a.sh", "m.sh"})], ids=["alone", "beside"]
)
async def test_hooks_of_the_chart_run_under_every_name(
    modules: str, hooks: set[str], sandbox: Sandbox, helm: Path, tmp_path: Path
) -> None:
    (kubeconfig := tmp_path / "kc").write_text(sandbox.kubeconfig())
    pods = [ChartPod(tmp_path / str(number), helm, f"modules.enabled={modules}") for number in range(len(STARTS))]
    programs = [pod.start(words, kubeconfig) for pod, words in zip(pods, STARTS, strict=True)]
    try:
        await until(lambda: all(pod.ran() >= hooks for pod in pods), "all hooks have run")
    finally:
        for program in programs:
            program.send_signal(SIGTERM)
        ends = [await asyncio.to_thread(program.wait) for program in programs]
        print(*((pod.root / "log").read_text() for pod in pods))
    assert (ends, [pod.ran() for pod in pods]) == ([0, 0, 0], [hooks, hooks, hooks])
