"""tests/launcher.py: a forked program is like an executed one where tests look. Level: sandbox."""

import json
import os
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import launcher

pytestmark = pytest.mark.usefixtures("launcher")
ENVIRON = {"PATH": os.environ["PATH"], "TZ": "UTC"}


@pytest.mark.parametrize("words", [["--version"], ["no-such-command"], ["hook", "config", "/nowhere"]])
def test_output_and_exit_code_equal_those_of_an_executed_program(words: list[str], tmp_path: Path) -> None:
    executed = subprocess.run(
        [sys.executable, "-m", "hookrunner", *words], cwd=tmp_path, env=ENVIRON, capture_output=True, text=True
    )
    forked = launcher.run(words, cwd=tmp_path, env=ENVIRON)
    assert (forked.returncode, forked.stdout, forked.stderr) == (executed.returncode, executed.stdout, executed.stderr)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_program_ends_by_signals_with_its_own_code(number: int, code: int, tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        program = launcher.start(
            ["sandbox", f"--kubeconfig={tmp_path}/kc"], cwd=tmp_path, env=ENVIRON, stdout=log.fileno(), stderr=2
        )
    while "export" not in (tmp_path / "log").read_text():
        assert program.poll() is None
    assert (os.getpgid(program.pid), program.pid in _children(os.getpid())) == (program.pid, False)
    program.send_signal(number)
    assert (program.wait(), program.poll()) == (code, code)
    program.send_signal(signal.SIGKILL)  # after its end: does nothing


@pytest.mark.parametrize("is_shared", [False, True])
def test_programs_end_with_the_process_that_started_them(is_shared: bool, tmp_path: Path) -> None:
    """However that ends, here by SIGKILL; and with a server that lives on, too."""
    environ = {name: value for name, value in os.environ.items() if name != launcher.ADDRESS}
    if is_shared:
        environ[launcher.ADDRESS] = launcher._begin()
    code = (
        "import os, sys, pathlib; from tests import launcher\n"
        f"p = launcher.start(['sandbox', '--kubeconfig=kc'], cwd=pathlib.Path({str(tmp_path)!r}), "
        "env=dict(os.environ), stdout=1, stderr=2)\n"
        "print(p.pid, flush=True); p.wait()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], env=environ, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout
        pid = int(starter.stdout.readline())
        assert starter.stdout.readline().startswith("export KUBECONFIG")
        end = os.pidfd_open(pid)
        starter.kill()
        assert starter.stdout.read() == ""  # all that had it open have closed it, which is not yet their end
    assert select.select([end], [], [], 60)[0] == [end]
    os.close(end)


LOOKUPS = """
import json, os, sys
from pathlib import Path
from hookrunner.kube.cluster_lookup import Lookup
from hookrunner.settings import KubeSettings
from tests import forked_children
answers, forks = [[], []], []
os.register_at_fork(before=lambda: forks.append(1))  # not called when a program is executed
for fork in (False, True):
    if fork:
        forked_children.install()
    for name in ("plugin", "missing"):
        lookup = Lookup(KubeSettings(config=Path(sys.argv[1], name)))
        leads = os.getpgid(lookup._child.pid) == lookup._child.pid
        answers[fork].append([*map(bytes.decode, lookup.output()), lookup._child.wait(), leads])
        lookup.close()
print(json.dumps([*answers, len(forks)]))
"""


def test_a_forked_lookup_finds_what_an_executed_one_does(tmp_path: Path) -> None:
    """With an exec plugin, which gets the environment and a standard input of its own; and an error."""
    token = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": "t-$NAME"}}
    script = f"cat <<END\n{json.dumps(token)}\nEND"
    plugin = {"apiVersion": token["apiVersion"], "command": "sh", "args": ["-c", script], "interactiveMode": "Never"}
    config = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "https://c.example"}}],
        "users": [{"name": "u", "user": {"exec": plugin}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    (tmp_path / "plugin").write_text(json.dumps(config))
    environ = ENVIRON | {"NAME": "name", "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", LOOKUPS, str(tmp_path)], env=environ, stdout=subprocess.PIPE, check=True
    )
    executed, forked, forks = json.loads(done.stdout)
    assert (forked, forks) == (executed, 2)
    assert "Bearer t-name" in forked[0][0]


RENDERS = """
import asyncio, json, os, sys, threading
from pathlib import Path
from hookrunner.charts.renderer import Renderer, RenderLimits
from hookrunner.errors import RenderFailed
from hookrunner.model.releases import Capabilities, RenderRequest
from tests import forked_children
answers, forks = [[], []], []
os.register_at_fork(before=lambda: forks.append(1))

async def render(renderer, name):
    try:
        asked = RenderRequest(Path(sys.argv[1], name), "r", "n", {}, Capabilities("v1.33.0", ()))
        return str((await renderer.render(asked)).objects)
    except RenderFailed as error:
        return str(error)

async def render_all():
    environ = {"KUBECONFIG": str(Path(sys.argv[1], "kubeconfig"))}
    async with Renderer(RenderLimits(memory=100 << 20), environ) as renderer:
        return [await render(renderer, name) for name in ("good", "looks", "large")]

threading.Thread(target=threading.Event().wait, daemon=True).start()  # as in programs, which are not alone either
for fork in (False, True):
    if fork:
        forked_children.install()
    answers[fork] = asyncio.run(render_all())
print(json.dumps([*answers, len(forks)]))
"""


def test_a_forked_render_worker_renders_and_dies_as_an_executed_one(tmp_path: Path) -> None:
    """One that looks things up finds the cluster; one that takes more memory than it may is quoted. What Go says then,
    or whether it ends by reading a null pointer, depends on its threads: each of three ways was seen in 150 deaths."""
    texts = {
        "good": "a: {{ .Release.Name }}",
        "looks": '{{ lookup "v1" "Secret" "a" "b" }}',
        "large": '{{ repeat 1000000000 "a" }}',
    }
    for name, text in texts.items():
        (tmp_path / name / "templates").mkdir(parents=True)
        (tmp_path / name / "Chart.yaml").write_text("{apiVersion: v2, name: c, version: 1.0.0}\n")
        (tmp_path / name / "templates/a.yaml").write_text(
            f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata:\n  {text}\n"
        )
    cluster = {"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}
    context = {"name": "c", "context": {"cluster": "c", "user": ""}}
    (tmp_path / "kubeconfig").write_text(
        json.dumps({"current-context": "c", "clusters": [cluster], "contexts": [context]})
    )
    environ = ENVIRON | {"PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", RENDERS, tmp_path], env=environ, stdout=subprocess.PIPE, check=True)
    executed, forked, forks = json.loads(done.stdout)
    assert (forked[:2], forks) == (executed[:2], 2)  # a used worker that dies is replaced once
    for good, looks, large in (executed, forked):
        assert "{'a': 'r'}" in good
        assert "https://127.0.0.1:1/api" in looks
        assert re.search(r"the render worker died \(.*(memory|SIGSEGV)", large)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
