"""One run of a real executable: what it sees, how it ends, what comes back. What is the same for every carrier is a
case of tests/contract/carriers/runs.json. Level: pure."""

import asyncio
import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Literal

import orjson
import pytest

from hookrunner.errors import BadOutput, HookFailed
from hookrunner.hooks.hook_process import HookProcesses
from hookrunner.model.bindings import Change, Hook, HookConfig, HookSettings
from hookrunner.model.contexts import Context, ContextType, Entry
from hookrunner.model.hook_runs import ExitedBadly, InstanceInput, RunResult, Values
from hookrunner.model.operations import MetricAction, MetricOperation, Verb
from hookrunner.model.resources import ObjectKey
from hookrunner.model.reviews import Converted, Verdict
from hookrunner.process.children import Children
from hookrunner.settings import HooksSettings
from kubetypes.json_values import JSON
from tests.fakes.cluster import until
from tests.hooks.conftest import MakeHook

STARTUP = Context("onStartup", ContextType.STARTUP)
POD = ObjectKey("ns", "Pod", "a")


class Runs:
    """Writes a hook and runs it once."""

    def __init__(self, settings: HooksSettings, children: Children, make_hook: MakeHook) -> None:
        self.settings = settings
        self.directory = settings.directory or Path()
        self.children = children
        self.make_hook = make_hook
        self.config = HookConfig("v1")
        self.context = STARTUP
        self.snapshot = [Entry(POD, b'{"kind":"Pod"}', None)]
        self.module = ""
        self.values = Values(b"C", b"V")

    async def __call__(self, script: str) -> RunResult:
        hook = Hook("sub/hook.sh", self.make_hook("sub/hook.sh", script), self.config, self.module)
        runner = HookProcesses(self.settings, self.children)
        values = self.values if self.module else None
        return await runner.run(hook, [self.context], {0: self.snapshot}, values=values)

    async def sees(self) -> JSON:
        """The context as the hook reads it."""
        await self(f"cat $BINDING_CONTEXT_PATH > {self.directory}/seen")
        return orjson.loads((self.directory / "seen").read_bytes())


@pytest.fixture
def runs(settings: HooksSettings, children: Children, make_hook: MakeHook) -> Runs:
    return Runs(settings, children, make_hook)


async def test_a_hook_runs_where_it_is_with_its_context_and_the_given_environment(runs: Runs) -> None:
    out = runs.directory / "out"
    await runs(f'env > {out}; echo "$PWD $#" >> {out}')
    lines = out.read_text().splitlines()
    assert lines[-1] == f"{runs.directory}/sub 0"
    assert {line.partition("=")[0] for line in lines[:-1]} - {"PWD", "OLDPWD", "SHLVL", "_"} == {
        "PATH",
        "BINDING_CONTEXT_PATH",
        "METRICS_PATH",
        "CONVERSION_RESPONSE_PATH",
        "VALIDATING_RESPONSE_PATH",
        "ADMISSION_RESPONSE_PATH",
        "KUBERNETES_PATCH_PATH",
        "RUN_AGAIN_PATH",
    }


async def test_a_hook_of_a_module_runs_where_the_program_does(runs: Runs) -> None:
    out = runs.directory / "out"
    runs.module = "m"
    await runs(f"pwd > {out}")
    assert out.read_text() == f"{Path.cwd()}\n"


async def test_only_a_hook_of_an_addon_can_report_conditions(runs: Runs) -> None:
    runs.module = "coredns.kube-system.default"
    runs.values = Values(b"{}", b"{}", InstanceInput(b'{"kind":"CoreDNS"}', "/package"))
    assert (await runs("true")).answer.conditions == ()
    with pytest.raises(BadOutput, match=r"CONDITIONS_PATH: document 1: status is required"):
        await runs("""echo '{"type":"Conflict"}' > $CONDITIONS_PATH""")
    runs.values = Values(b"{}", b"{}")
    assert (await runs('test -z "$CONDITIONS_PATH"')).answer.conditions is None


async def test_large_values_are_complete(runs: Runs) -> None:
    runs.module, runs.values = "m", Values(b"1" * 100_000, b"2" * 100_000)
    out = runs.directory / "out"
    await runs(f"cat $CONFIG_VALUES_PATH $VALUES_PATH > {out}")
    assert out.read_bytes() == b"1" * 100_000 + b"2" * 100_000


async def test_an_interpreter_comes_before_the_hook_and_has_variables_of_its_own(
    runs: Runs, children: Children
) -> None:
    out = runs.directory / "out"
    path = runs.make_hook("hook.py", f'echo "$HOME_OF_IT $0 $#" > {out}')
    path.chmod(0o644)
    hook = Hook("m/hooks/hook.py", path, HookConfig("v1"), "m", ("/bin/sh",), {"HOME_OF_IT": "x"})
    await HookProcesses(runs.settings, children).run(hook, [STARTUP], {}, values=Values(b"{}", b"{}"))
    assert out.read_text() == f"x {path} 0\n"


async def test_a_v0_hook_reads_names_instead_of_objects(runs: Runs) -> None:
    runs.config = HookConfig("v0")
    runs.context = Context("pods", ContextType.EVENT, change=Change.ADDED, key=POD)
    assert await runs.sees() == [
        {
            "binding": "pods",
            "resourceEvent": "add",
            "resourceNamespace": "ns",
            "resourceKind": "Pod",
            "resourceName": "a",
        }
    ]


async def test_all_files_of_a_hook_come_back_with_its_usage(runs: Runs) -> None:
    ran = await runs(
        """
        echo '{"name":"m","set":1}' > $METRICS_PATH
        echo '{"allowed":true} and more' > $VALIDATING_RESPONSE_PATH
        echo '{"convertedObjects":[]}' > $CONVERSION_RESPONSE_PATH
        echo '{"operation":"Delete","kind":"Pod","name":"a"}' > $KUBERNETES_PATCH_PATH
        """
    )
    assert ran.answer.metrics == (MetricOperation(MetricAction.SET, "m", 1.0),)
    assert [operation.verb for operation in ran.answer.objects] == [Verb.DELETE]
    assert (ran.answer.admission, ran.answer.conversion) == (Verdict(allowed=True), Converted())
    assert ran.usage.seconds > 0
    assert ran.usage.max_rss_bytes > 0


@pytest.mark.parametrize("count", [0, 1000, 1001, 5000])
async def test_a_context_of_any_size_is_complete(runs: Runs, count: int) -> None:
    runs.context = Context("pods", ContextType.SYNCHRONIZATION, source=0)
    runs.snapshot *= count
    (seen,) = await runs.sees()
    assert len(seen["objects"]) == count


@pytest.mark.parametrize("count", [1, 5000])
async def test_an_answer_of_any_size_is_complete(runs: Runs, count: int) -> None:
    line = '{"operation":"Delete","kind":"Pod","name":"a"}'
    ran = await runs(f"yes '{line}' | head -n {count} > $KUBERNETES_PATCH_PATH")
    assert len(ran.answer.objects) == count


@pytest.mark.parametrize("script", ['cat "$BINDING_CONTEXT_PATH/x"', 'rm "$METRICS_PATH"'])
async def test_each_attempt_fails_with_the_same_words(runs: Runs, script: str) -> None:
    """With a path that changes, each retry of a hook of an addon would be another Event."""
    texts = set[str]()
    for _ in range(2):
        with pytest.raises(HookFailed) as failed:
            await runs(script)
        texts.add(str(failed.value))
    assert len(texts) == 1
    assert "_PATH" in texts.pop()


async def removed(runs: Runs) -> None:
    """Wait until no file is left: a thread removes them after the run."""
    await until(lambda: not list(runs.settings.tmp_dir.iterdir()))


async def test_the_files_are_gone_after_a_run_unless_kept(runs: Runs) -> None:
    await runs("true")
    await removed(runs)
    runs.settings = replace(runs.settings, keep_tmp_files=True)
    await runs("true")
    assert len(list(runs.settings.tmp_dir.iterdir())) == 5


@pytest.mark.slow
async def test_a_disk_that_takes_its_time_to_remove_files_holds_up_no_run(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = threading.Event()
    monkeypatch.setattr(os, "unlink", lambda path, unlink=os.unlink: free.wait(600) and unlink(path))
    try:
        for _ in range(40):
            await runs("true")
        runs.context, runs.snapshot = Context("pods", ContextType.SYNCHRONIZATION, source=0), runs.snapshot * 2000
        async with asyncio.timeout(60):
            await runs("true")
    finally:
        free.set()
    await removed(runs)


@pytest.mark.slow
async def test_the_message_of_a_failure_is_bounded(runs: Runs) -> None:
    with pytest.raises(ExitedBadly) as error:
        await runs("echo first >&2; yes | head -c 100000 >&2; echo last >&2; exit 1")
    assert str(error.value).startswith("sub/hook.sh FAILED: first\n")
    assert str(error.value).endswith("\nlast")
    assert len(str(error.value)) < 9000


async def test_a_run_that_is_cancelled_ends_its_process_and_leaves_no_file(runs: Runs) -> None:
    pipe = runs.directory / "started"
    os.mkfifo(pipe)
    run = asyncio.create_task(runs(f"echo $$ > {pipe}; exec sleep 60"))
    pid = int(await asyncio.to_thread(pipe.read_text))
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    await removed(runs)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


async def test_a_hook_that_cannot_be_started_says_why(runs: Runs) -> None:
    hook = Hook("gone.sh", Path("/nowhere/gone.sh"), HookConfig("v1"))
    with pytest.raises(HookFailed, match=r"gone\.sh"):
        await HookProcesses(runs.settings, runs.children).run(hook, [STARTUP], {})
    await removed(runs)


PATCH = (
    '{"operation":"MergePatch","kind":"Pod","name":"a",'
    '"mergePatch":{"a":1},"subresource":"status","ignoreHookError":true}'
)


@pytest.mark.parametrize(("setting", "patched"), [("refuse", []), ("apply", ["a"])])
async def test_a_review_that_fails_patches_a_status_unless_it_may_change_nothing(
    runs: Runs, setting: Literal["apply", "refuse"], patched: list[str]
) -> None:
    runs.config = HookConfig("v1", settings=HookSettings(on_review_patches=setting))
    runs.context = Context("a.example.com", ContextType.VALIDATING)
    with pytest.raises(ExitedBadly) as error:
        await runs(f"echo '{PATCH}' > $KUBERNETES_PATCH_PATH; exit 1")
    assert [operation.name for operation in error.value.operations] == patched


@pytest.mark.parametrize("mess", ["echo '{\"operation\":' > $KUBERNETES_PATCH_PATH", "rm $KUBERNETES_PATCH_PATH"])
async def test_a_failed_hooks_broken_patch_file_does_not_hide_why_it_failed(
    runs: Runs, mess: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ExitedBadly, match="FAILED: exit status 1"):
        await runs(f"{mess}; exit 1")
    assert "the failed hook's patch file is ignored" in capfd.readouterr().err


@pytest.mark.parametrize("variable", ["METRICS", "KUBERNETES_PATCH", "ADMISSION_RESPONSE", "CONVERSION_RESPONSE"])
async def test_removing_a_file_that_is_read_fails_the_run(runs: Runs, variable: str) -> None:
    with pytest.raises(BadOutput, match="No such file"):
        await runs(f"rm ${variable}_PATH")


async def test_removing_the_context_does_not(runs: Runs) -> None:
    assert (await runs("rm $BINDING_CONTEXT_PATH")).answer.objects == ()
