"""The pytest plugin, as a project uses it that only has hookrunner and pytest: in a process of its own. Level: pure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.testing.conftest import Author

TESTS = """
import asyncio
import sys

import pytest

from hookrunner.errors import BadInput, PatchFailed
from hookrunner.testing.hooks import Hooks

CM = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "n"}, "data": {"x": "1"}}

def test_event(hook: Hooks):
    result = hook("hooks/hook.sh").given(CM).on_event("Added", CM)
    assert result.ok
    assert result.patches == [{"operation": "MergePatch", "kind": "ConfigMap", "namespace": "n", "name": "a",
                               "mergePatch": {"data": {"y": "2"}}}]
    assert result.metrics == [{"name": "m", "action": "add", "value": 1}]
    assert (result.exit_code, result.logs) == (0, ["hello"])
    assert result.contexts[0]["watchEvent"] == "Added"
    assert result.objects[0]["data"] == {"x": "1", "y": "2"}

def test_other_happenings(hook: Hooks):
    tried = hook("hooks/hook.sh")
    assert tried.config["kubernetes"][0]["name"] == "cms"
    assert tried.on_startup().contexts == [{"binding": "onStartup"}]
    assert tried.with_snapshot("cms", CM).on_schedule().contexts[0]["snapshots"]["cms"][0]["filterResult"] == "1"
    assert tried.given(CM).on_synchronization().contexts[0]["objects"][0]["object"] == CM
    assert tried.on_event("Modified", "cm.json", old=CM).reason == "filter result unchanged"
    assert tried.on_review("CREATE", CM).verdict == {"allowed": True}
    assert tried.with_values({"a": {}}).on_startup().values == {"a": {"b": 1}}

def test_a_hook_that_fails(hook: Hooks):
    result = hook("hooks/hook.sh").on_event("Deleted", CM)
    assert (result.exit_code, result.ok, result.failure) == (3, False, "hook.sh FAILED: oh no")

def test_what_the_api_refuses(hook: Hooks):
    result = hook("hooks/hook.sh").on_startup()
    assert (result.exit_code, result.ok, "not found" in result.refusal) == (0, False, True)
    with pytest.raises(PatchFailed, match="not found"):
        result.objects
    assert hook("hooks/hook.sh").given(CM).on_startup().ok

def test_a_hook_that_is_not_there(hook: Hooks):
    with pytest.raises(BadInput, match="there is no hook no.sh in"):
        hook("no.sh")

def test_the_story_of_a_mistake_begins_and_ends_in_the_test(hook: Hooks):
    for mistake in (lambda: hook("no.sh"), lambda: hook("hooks/hook.sh").on_group("no")):
        with pytest.raises(BadInput) as found:
            mistake()
        assert found.value.__context__ is None
        assert [entry.path.name for entry in found.traceback.filter(found)] == ["test_hook.py"] * 2
    with pytest.raises(BadInput, match="'added' is no event; it is Added"):
        hook("hooks/hook.sh").on_event("added", CM)

def test_inside_a_running_loop(hook: Hooks):
    async def story():
        return hook("hooks/hook.sh").on_startup()
    assert asyncio.run(story()).ran
"""

SCRIPT = """
echo hello
context=$(cat "$BINDING_CONTEXT_PATH")
case "$context" in *Deleted*) echo "oh no" >&2; exit 3;; esac
[ -z "$VALUES_PATH" ] || echo '{"op": "add", "path": "/a/b", "value": 1}' > "$VALUES_JSON_PATCH_PATH"
echo '{"name": "m", "add": 1}' > "$METRICS_PATH"
echo '{"allowed": true}' > "$ADMISSION_RESPONSE_PATH"
cat > "$KUBERNETES_PATCH_PATH" <<'EOF'
{operation: MergePatch, kind: ConfigMap, namespace: n, name: a, mergePatch: {data: {y: "2"}}}
EOF
"""

RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}
CONFIG = {
    "onStartup": 1,
    "kubernetes": [{"name": "cms", "kind": "ConfigMap", "jqFilter": ".data.x"}],
    "schedule": [{"crontab": "* * * * *", "includeSnapshotsFrom": ["cms"]}],
    "kubernetesValidating": [{"name": "a.example.com", "rules": [RULE]}],
}


def pytest_in(directory: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """With our entry point and no other plugin."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "hookrunner",
        "-p",
        "no:cacheprovider",
        "-W",
        "error",
        *words,
    ]
    alone = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, env=alone)


@pytest.mark.slow
def test_the_fixture_does_what_the_documents_say(tmp_path: Path, write_hook: Author) -> None:
    write_hook(CONFIG, SCRIPT)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "cm.json").write_text(
        '{"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "a", "namespace": "n"}, "data": {"x": "1"}}'
    )
    (tmp_path / "tests" / "test_hook.py").write_text(TESTS)
    ended = pytest_in(tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "7 passed" in ended.stdout


@pytest.mark.slow
def test_an_unused_plugin_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\ndef test_it():\n    loaded = {n for n in sys.modules if n.startswith('hookrunner')}\n"
        "    assert loaded == {'hookrunner', 'hookrunner.testing', 'hookrunner.testing.plugin'}\n"
        "    assert not {'yaml', 'orjson', 'aiohttp'} & set(sys.modules)\n"
    )
    ended = pytest_in(tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.slow
def test_the_fixture_is_listed_with_its_first_line(tmp_path: Path) -> None:
    assert "A hook by its path" in pytest_in(tmp_path, "--fixtures").stdout
