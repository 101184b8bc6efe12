"""Python hooks: what a run of an unmodified one takes, by each way of starting it, what thirty idle ones take, and how
many runs a second a process makes that stays.

The hook is `copy-secrets.py` as it shipped before it used any library, with a Secret and 20 namespaces. A run is all of
it: files, process, answer. It is measured in this process, with the program's own code, beside `bash -c :` started by
the same code; the three take turns, so that a busy moment is everyone's.
"""

import json
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks import hooks
from benchmarks.programs import Program, running
from benchmarks.scenarios import Bed, Figures
from hookrunner.hooks.hook_process import HookProcesses
from hookrunner.hooks.python_path import DIRECTORY
from hookrunner.hooks.workspace import workspace
from hookrunner.model.bindings import Hook, HookConfig, HookSettings, Resident
from hookrunner.model.contexts import Context, ContextType, Entry, Include
from hookrunner.model.hook_runs import Run
from hookrunner.model.resources import ObjectKey
from hookrunner.process.child import Command, Patience
from hookrunner.process.children import Children
from hookrunner.process.output import OutputStream
from hookrunner.settings import HooksSettings

HOOK = Path(__file__).with_name("copy-secrets.py")
_NAMESPACES = 20
_START = Context("onStartup", ContextType.STARTUP)
_GROUP = Context(
    "all",
    ContextType.GROUP,
    "all",
    includes=tuple(Include(name, index) for index, name in enumerate(("originals", "copies", "namespaces"))),
)


async def python(bed: Bed, program: Program) -> Figures:
    """The runs, and the memory of thirty idle hooks with forks and without."""
    figures = await _runs(bed)
    memory = []
    for fork in ("true", "false"):
        scripts = {f"hook-{number:02}.py": _idle_hook() for number in range(bed.sizes.python_hooks)}
        more = {"HOOKRUNNER_PYTHON_FORK": fork}
        with running(program, bed.new_directory(), bed.cluster.kubeconfig, scripts, more) as operator:
            await operator.wait(bed.sizes.python_hooks, "run")
            memory.append((await operator.steady_memory()).total)
    return figures | {"idle": [memory[0]], "idle_own": [memory[1]], "idle_more": [memory[0] - 1.1 * memory[1]]}


class _Silence:
    """What hooks print is no part of the measurement."""

    def line(self, stream: OutputStream, text: str) -> None: ...

    def ended(self, stream: OutputStream) -> None: ...


async def _runs(bed: Bed) -> Figures:
    directory = bed.new_directory()
    directory.mkdir()
    path = Path(shutil.copy2(HOOK, directory))
    os.utime(path, (1e9, 1e9))
    settings = HooksSettings(directory, tmp_dir=directory / "tmp", environ={"PATH": os.environ["PATH"]})
    children = Children(Patience())
    processes = HookProcesses(settings, children)
    forked, own = (HookConfig("v1", settings=HookSettings(fork=fork)) for fork in (True, False))

    async def run(config: HookConfig) -> tuple[float, float]:
        began = time.perf_counter()
        hook = Hook(path.name, path, config, is_python=True)
        usage = (await processes.carry(Run(hook, [_GROUP], _SNAPSHOTS), _Silence())).usage
        return time.perf_counter() - began, usage.user_seconds + usage.system_seconds

    async def bash() -> tuple[float, float]:
        began = time.perf_counter()
        with workspace(settings.tmp_dir, "bash"):
            end = await children.run(Command(("/bin/bash", "-c", ":"), directory, settings.environ), _Silence())
        return time.perf_counter() - began, end.user_seconds + end.system_seconds

    await run(forked)
    samples = [(await run(forked), await run(own), await bash()) for _ in range(bed.sizes.spawns)]
    rates = await _rates(processes, _resident_hook(directory / "resident.py"), bed.sizes.resident_runs // 10)
    await processes.close()
    await children.stop(0.0)
    return _figures(*zip(*samples, strict=True)) | {"resident": rates}


async def _rates(processes: HookProcesses, hook: Hook, count: int) -> list[float]:
    """Runs a second, ten times so many runs."""
    rates = []
    for number in (1, *[count] * 10):  # the first one starts the process
        began = time.perf_counter()
        for _ in range(number):
            await processes.carry(Run(hook, [_START], {}), _Silence())
        rates.append(number / (time.perf_counter() - began))
    return rates[1:]


def _figures(*ways: Sequence[tuple[float, float]]) -> Figures:
    forked, own, bash = ([wall for wall, _ in way] for way in ways)
    cpu_forked, cpu_own, _ = ([cpu for _, cpu in way] for way in ways)
    return {
        "forked": forked,
        "own": own,
        "bash": bash,
        "to_bash": [median(forked) / median(bash)],
        "to_own": [median(forked) / median(own)],
        "cpu": cpu_forked,
        "cpu_to_own": [sum(cpu_forked) / sum(cpu_own)],
    }


def _resident_hook(path: Path) -> Hook:
    path.write_text(hooks.in_python("startup()", "pass"))
    path.chmod(0o755)
    config = HookConfig("v1", settings=HookSettings(resident=Resident()))
    return Hook(path.name, path, config, environ={"PYTHONPATH": str(DIRECTORY)}, is_python=True)


def _entry(**filtered: object) -> Entry:
    return Entry(ObjectKey("", "any", str(filtered["name"])), None, json.dumps(filtered).encode())


_SNAPSHOTS = {
    0: [_entry(namespace="a", name="registry", type="Opaque", data={"token": "c2VjcmV0"})],
    1: [],
    2: [_entry(name=f"team-{number}", phase="Active") for number in range(_NAMESPACES)],
}


def _idle_hook() -> str:
    """The same hook with nothing to watch, which writes down that it ran."""
    text = HOOK.read_text().partition('CONFIG = """')[0]
    return (
        text
        + """
import time
if sys.argv[1:] == ["--config"]:
    print("configVersion: v1\\nonStartup: 1")
else:
    with open(os.environ["TOLD"], "a") as told:
        told.write(f"{time.time()} run\\n")
"""
    )
