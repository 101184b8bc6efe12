"""Runs on the bench: results of good runs, failed runs, and timeouts. Level: pure."""

import json
import os
from dataclasses import fields, replace
from pathlib import Path

import pytest

from hookrunner.errors import BadHookConfig
from hookrunner.hooks.config.hook_config import parse
from hookrunner.hooks.config.schema import RESIDENT
from hookrunner.model.operations import Answer
from hookrunner.settings import HooksSettings
from hookrunner.testing import cases
from hookrunner.testing.bench import Bench, bench
from hookrunner.testing.display import config_document
from hookrunner.testing.happenings import Given, Lifecycle, Startup, Tick
from hookrunner.testing.results import NO_EFFECTS, Result, as_json, as_text
from tests.fakes.cluster import until
from tests.testing.conftest import Author

CONFIG = {"onStartup": 1}


NOTHING = Given()


async def ran(tools: Bench, write_hook: Author, script: str, given: Given = NOTHING) -> Result:
    return await tools.run(await tools.load(write_hook(CONFIG, script)), given, Startup())


async def test_result_holds_everything_the_hook_wrote(tools: Bench, write_hook: Author) -> None:
    script = """
echo one; echo two >&2; echo '{"a":1}'
echo '{kind: Pod, name: p, namespace: n, operation: Delete}' > "$KUBERNETES_PATCH_PATH"
echo '{"name": "m", "set": 1.5, "labels": {"l": "x"}}{"group": "g", "action": "expire"}' > "$METRICS_PATH"
"""
    result = await ran(tools, write_hook, script)
    assert (result.ran, result.ok, result.exit_code, result.contexts) == (True, True, 0, [{"binding": "onStartup"}])
    assert sorted(result.logs) == ["one", "two", '{"a":1}']
    assert result.patches == [{"operation": "Delete", "kind": "Pod", "namespace": "n", "name": "p"}]
    assert result.metrics == (
        {"name": "m", "action": "set", "value": 1.5, "labels": {"l": "x"}},
        {"group": "g", "action": "expire"},
    )
    assert result.seconds > 0


async def test_hook_runs_in_its_directory_with_our_environment(tools: Bench, write_hook: Author) -> None:
    result = await ran(tools, write_hook, 'pwd; echo "$PATH"; echo "${VALUES_PATH-unset}"; ls $(dirname $METRICS_PATH)')
    assert result.logs[:3] == (str(write_hook(CONFIG).parent), os.environ["PATH"], "unset")


async def test_result_shows_after_what_time_the_hook_is_run_again(tools: Bench, write_hook: Author) -> None:
    result = await ran(tools, write_hook, 'echo 30 > "$RUN_AGAIN_PATH"')
    assert as_json(result)["runAgainAfterSeconds"] == 30
    assert "asks to be run again after 30 s" in as_text(result, NO_EFFECTS, False)
    assert as_json(await ran(tools, write_hook, "true"))["runAgainAfterSeconds"] is None


SHOWN_AS = {
    "objects": "patches",
    "metrics": "metrics",
    "admission": "verdict",
    "conversion": "verdict",
    "config": "configValues",
    "values": "values",
    "conditions": "conditions",
    "again_after": "runAgainAfterSeconds",
}


def test_each_part_of_an_answer_is_shown_and_can_be_expected() -> None:
    assert SHOWN_AS.keys() == {field.name for field in fields(Answer)}, "show the new one in results.py"
    schema = json.loads((Path(cases.__path__[0]) / "cases.schema.json").read_text())
    expected = schema["$defs"]["expect"]["properties"].keys()
    assert set(SHOWN_AS.values()) <= expected & as_json(Result()).keys()


def test_the_effective_configuration_has_the_keys_that_users_write() -> None:
    settings = {"resident": {"maxRuns": 5}, "queues": {"q": {"orderBy": "object"}}}
    config = parse("h", json.dumps({"configVersion": "v1", "onStartup": 1, "settings": settings}).encode())
    shown = json.loads(json.dumps(config_document(config)["settings"]))
    assert shown["resident"].keys() == RESIDENT.keys.keys()
    assert shown["queues"] == {"q": {"concurrency": 1, "orderBy": "object"}}


INSTANCE = Given(instance={"kind": "CoreDNS", "spec": {}}, package_directory="/package")


async def test_hook_of_an_addon_reads_its_instance_and_reports_conditions(tools: Bench, write_hook: Author) -> None:
    condition = '{"type": "Odd", "status": "True", "message": "\'"$ADDON_PACKAGE_DIR"\'"}'
    script = f"cat $ADDON_OBJECT_PATH; echo '{condition}' > $CONDITIONS_PATH"
    result = await ran(tools, write_hook, script, INSTANCE)
    assert result.logs == ('{"kind":"CoreDNS","spec":{}}',)
    odd = {"type": "Odd", "status": "True", "reason": "Odd", "message": "/package", "healthy": True}
    assert result.reported == [odd]
    failed = await ran(tools, write_hook, 'echo \'{"type": "Ready"}\' > $CONDITIONS_PATH', INSTANCE)
    assert "CONDITIONS_PATH: document 1" in failed.failure
    other = await ran(tools, write_hook, "echo ${ADDON_OBJECT_PATH-unset}")
    assert (other.logs, other.reported) == (("unset",), [])


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [
        ("echo 'no such thing' >&2; exit 3", 3, "hook.sh FAILED: no such thing"),
        ("kill -9 $$", None, "hook.sh FAILED: killed by SIGKILL"),
        ("echo '{' > $METRICS_PATH", 0, "got bad metrics: document 1: not JSON"),
        ("echo 'operation: Create' > $KUBERNETES_PATCH_PATH", 0, "can't validate document 1 of the patch file"),
        ("rm $METRICS_PATH", 0, "a hook must leave its files where they are"),
    ],
)
async def test_failed_run_states_its_reason(
    script: str, code: int | None, message: str, tools: Bench, write_hook: Author
) -> None:
    result = await ran(tools, write_hook, script)
    assert (result.ran, result.ok, result.exit_code, result.patches) == (True, False, code, [])
    assert message in result.failure


async def test_failed_hook_keeps_operations_with_ignore_hook_error(tools: Bench, write_hook: Author) -> None:
    patch = (
        "{operation: MergePatch, kind: Pod, name: p, subresource: status, mergePatch: {a: 1}, ignoreHookError: true}"
    )
    result = await ran(tools, write_hook, f"echo '{patch}' > $KUBERNETES_PATCH_PATH; exit 1")
    assert [one["subresource"] for one in result.patches] == ["status"]


async def test_hook_finds_only_the_given_cluster(write_hook: Author) -> None:
    mine = {"PATH": os.environ["PATH"], "KUBECONFIG": "/mine", "KUBERNETES_SERVICE_HOST": "10.0.0.1"}
    script = 'echo "$KUBECONFIG ${KUBERNETES_SERVICE_HOST-none}"'
    for given, seen in (("", f"{os.devnull} none"), ("theirs", f"{Path.cwd()}/theirs none")):
        async with bench(HooksSettings(environ=mine), kubeconfig=given) as tools:
            assert (await ran(tools, write_hook, script)).logs == (seen,)


async def test_processes_left_by_a_hook_are_ended(tools: Bench, write_hook: Author) -> None:
    result = await ran(tools, write_hook, "sleep 1000 >/dev/null 2>&1 & echo $!")
    assert result.ok
    await until(lambda: not Path(f"/proc/{result.logs[0]}/cwd").exists())


async def test_hanging_hook_is_ended_with_its_children(tools: Bench, write_hook: Author, tmp_path: Path) -> None:
    script = f"sleep 1000 & echo $! > {tmp_path}/pid; echo begun; wait"
    for seconds in (0.5, 5, 50):  # so long may it take to begin, if the machine stands still
        result = await ran(replace(tools, timeout=seconds), write_hook, script)
        if result.logs:
            break
    assert (result.ok, result.logs) == (False, ("begun",))
    assert "timed out after " in result.failure
    await until(lambda: not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/cwd").exists())


async def test_endless_output_is_cut_after_its_beginning(tools: Bench, write_hook: Author) -> None:
    result = await ran(tools, write_hook, "seq 1 10002")
    assert (len(result.logs), result.logs[0], result.logs[-1]) == (10_001, "1", "… and 2 lines more")


async def test_shorter_timeout_of_the_hook_applies(tools: Bench, write_hook: Author) -> None:
    hook = await tools.load(write_hook({"onStartup": 1, "settings": {"timeout": "300ms"}}, "sleep 1000"))
    assert "timed out after " in (await tools.run(hook, Given(), Startup())).failure


async def test_module_hook_reads_values_from_files(tools: Bench, write_hook: Author) -> None:
    script = """
cat $VALUES_PATH; echo; cat $CONFIG_VALUES_PATH; echo
exec > $VALUES_JSON_PATCH_PATH
echo '[{"op": "add", "path": "/m/b~1c", "value": [1]}]{"op": "add", "path": "/m/b~1c/-", "value": 2}'
echo '{"op": "remove", "path": "/m/x"}' > $CONFIG_VALUES_JSON_PATCH_PATH
"""
    result = await ran(tools, write_hook, script, Given(values={"m": {"a": 1}}, config_values={"m": {"x": 1}}))
    assert result.logs == ('{"m":{"a":1}}', '{"m":{"x":1}}')
    assert result.values is not None
    assert result.values.after == {"m": {"a": 1, "b/c": [1, 2]}}
    assert result.config_values is not None
    assert (result.config_values.after, result.config_values.before) == ({"m": {}}, {"m": {"x": 1}})


async def test_hook_in_a_module_may_change_only_its_own_values(
    tools: Bench, write_hook: Author, tmp_path: Path
) -> None:
    (tmp_path / "hooks/modules/my-dns/hooks").mkdir(parents=True)
    script = """cat $VALUES_PATH; echo '{"op": "add", "path": "/other/a", "value": 1}' > $VALUES_JSON_PATCH_PATH"""
    path = write_hook({"beforeHelm": 1}, script, "modules/my-dns/hooks/hook.sh")
    result = await tools.run(await tools.load(path), Given(), Lifecycle())
    assert result.logs == ('{"global":{},"myDns":{}}',)
    assert "unacceptable patch operation for path 'other' (only 'myDns' accepted)" in result.failure


async def test_missing_config_values_are_empty_sections(tools: Bench, write_hook: Author) -> None:
    result = await ran(tools, write_hook, "cat $CONFIG_VALUES_PATH", Given(values={"global": {"a": 1}, "m": {}}))
    assert result.logs == ('{"global":{},"m":{}}',)


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (
            '{"op": "replace", "path": "/m", "value": 1}',
            "VALUES_JSON_PATCH_PATH: unsupported patch operation 'replace'",
        ),
        ('{"op": "add", "path": "m"}', "the path of a patch operation begins with '/'"),
        ("{", "VALUES_JSON_PATCH_PATH: the patch of values is not JSON"),
        ('{"op": "remove", "path": "/m/x"}', "values patch: remove /m/x does not fit: there is no /m/x"),
        ('{"op": "add", "path": "/m/x/y", "value": 1}', "add /m/x/y does not fit"),
        ('{"op": "test", "path": "/m", "value": 1}', "test /m does not fit"),
    ],
)
async def test_inapplicable_values_patch_fails_the_run(
    patch: str, message: str, tools: Bench, write_hook: Author
) -> None:
    result = await ran(tools, write_hook, f"echo '{patch}' > $VALUES_JSON_PATCH_PATH", Given(values={"m": {}}))
    assert message in result.failure


async def test_hook_without_a_matching_binding_is_not_run(tools: Bench, write_hook: Author, tmp_path: Path) -> None:
    hook = await tools.load(write_hook({"schedule": [{"crontab": "* * * * *"}]}, f"touch {tmp_path}/ran"))
    result = await tools.run(hook, Given(), Startup())
    assert (result.ran, result.ok, result.exit_code) == (False, True, None)
    assert result.reason == "onStartup: the hook's configuration does not have it"
    assert not (tmp_path / "ran").exists()
    assert (await tools.run(hook, Given(), Tick())).ran
    assert (tmp_path / "ran").exists()


async def test_a_bad_configuration_is_reported_as_at_the_start(tools: Bench, write_hook: Author) -> None:
    with pytest.raises(BadHookConfig, match=r"schedule\[0\].crontab"):
        await tools.load(write_hook({"schedule": [{"crontab": "x"}]}))
    path = write_hook(CONFIG)
    path.chmod(0o644)
    with pytest.raises(BadHookConfig, match="make it executable: chmod"):
        await tools.load(path)


async def test_directory_holds_the_hooks_that_a_start_finds(tools: Bench, write_hook: Author) -> None:
    directory = write_hook(CONFIG, name="a.sh").parent
    write_hook({"nothing": 1}, name="b.sh")
    (directory / "a.sh.test.yaml").write_text("[]")
    catalog_found = await tools.catalog(directory)
    assert ([hook.name for hook in catalog_found.hooks], [one.hook for one in catalog_found.problems]) == (
        ["a.sh"],
        ["b.sh"],
    )
