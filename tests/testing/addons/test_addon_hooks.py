"""Hooks of an addon without a cluster: their order, what they see, and what is kept of it. Level: pure."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from hookrunner.errors import BadHookConfig, BadValues, HookFailed
from hookrunner.settings import load
from hookrunner.testing.addons.addon_hooks import HookInputs, run_hooks
from hookrunner.testing.bench import Bench, bench
from hookrunner.values.section import NO_SCHEMAS
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON

UNIT = "web.apps.default"
INSTANCE = {"apiVersion": "a.io/v1", "kind": "Web", "metadata": {"name": "default", "namespace": "apps"}}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "one"}}

Write = Callable[[str, str, str], None]


@pytest.fixture
async def hooks() -> AsyncIterator[Bench]:
    async with bench(load({}, "hookrunner", {"PATH": "/usr/bin:/bin"}).hooks) as tools:
        yield tools


@pytest.fixture
def values() -> SectionStore:
    store = SectionStore({}, {})
    store.add(UNIT, "web", NO_SCHEMAS)
    store.describe(UNIT, {"addon": {"version": "1.0.0"}}, {"order": ""})
    return store


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a hook with a configuration and a script, beside an addon.yaml."""

    def made(name: str, config: str, script: str) -> None:
        path = tmp_path / "web/hooks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "web/addon.yaml").write_text("object: {kind: Web}\n")
        path.write_text(f"#!/bin/sh\nif [ \"$1\" = --config ]; then echo '{config}'; exit 0; fi\n{script}\n")
        path.chmod(0o755)

    return made


async def run(hooks: Bench, values: SectionStore, tmp_path: Path, *cluster: JSON) -> tuple[str, ...]:
    inputs = HookInputs(INSTANCE, tmp_path / "package", cluster)
    return await run_hooks(hooks, tmp_path / "web", inputs, values, UNIT)


def append(word: str) -> str:
    """A script that puts a word behind those that hooks before it have left."""
    return (
        f'jq -c \'{{op: "add", path: "/web/order", value: (.web.order + "{word} ")}}\' '
        '"$VALUES_PATH" > "$VALUES_JSON_PATCH_PATH"'
    )


@pytest.mark.slow
async def test_hooks_run_in_the_order_of_a_first_run(
    hooks: Bench, values: SectionStore, write: Write, tmp_path: Path
) -> None:
    write("a.sh", "{configVersion: v1, beforeHelm: 2}", append("last"))
    write("b.sh", "{configVersion: v1, beforeHelm: 1}", append("before"))
    write("c.sh", "{configVersion: v1, kubernetes: [{kind: Node}, {kind: Pod}]}", append("sync"))
    write("d.sh", "{configVersion: v1, onStartup: 5}", append("start"))
    write("e.sh", '{configVersion: v1, schedule: [{crontab: "* * * * *"}]}', append("never"))
    await run(hooks, values, tmp_path)
    assert values.effective(UNIT)["order"] == "start sync sync before last "


async def test_hook_sees_cluster_instance_and_package(
    hooks: Bench, values: SectionStore, write: Write, tmp_path: Path
) -> None:
    script = (
        "nodes=$(jq '.[0].snapshots.nodes | length' \"$BINDING_CONTEXT_PATH\")\n"
        'kind=$(jq -r .kind "$ADDON_OBJECT_PATH")\n'
        'echo "{\\"op\\":\\"add\\",\\"path\\":\\"/web/seen\\",\\"value\\":\\"$kind $nodes $ADDON_PACKAGE_DIR\\"}"'
        ' > "$VALUES_JSON_PATCH_PATH"'
    )
    write("a.sh", "{configVersion: v1, kubernetes: [{name: nodes, kind: Node, group: all}]}", script)
    await run(hooks, values, tmp_path, NODE)
    assert values.effective(UNIT)["seen"] == f"Web 1 {tmp_path}/package"


async def test_changes_of_objects_are_noted_and_not_made(
    hooks: Bench, values: SectionStore, write: Write, tmp_path: Path
) -> None:
    delete = '{"operation":"Delete","kind":"Node","apiVersion":"v1","name":"one"}'
    write("a.sh", "{configVersion: v1, onStartup: 1}", f"echo '{delete}' > \"$KUBERNETES_PATCH_PATH\"")
    notes = await run(hooks, values, tmp_path, NODE)
    assert notes == ("hook a.sh: asks for 1 changes of objects, which are not made here",)


@pytest.mark.parametrize(
    ("script", "error", "message"),
    [
        ("echo broken; exit 3", HookFailed, "broken"),
        ('echo nonsense > "$VALUES_JSON_PATCH_PATH"', HookFailed, "a.sh"),
        ('echo 5 > "$CONDITIONS_PATH"', HookFailed, "a.sh"),
        (
            'echo \'{"op":"add","path":"/web/x","value":1}\' > "$CONFIG_VALUES_JSON_PATCH_PATH"',
            HookFailed,
            "a.sh: hooks of addons cannot change the config",
        ),
        (
            'echo \'{"op":"add","path":"/web/addon","value":{}}\' > "$VALUES_JSON_PATCH_PATH"',
            BadValues,
            "hooks cannot change /web/addon",
        ),
    ],
)
async def test_bad_hooks_refuse_the_instance(
    script: str,
    error: type[Exception],
    message: str,
    hooks: Bench,
    values: SectionStore,
    write: Write,
    tmp_path: Path,
) -> None:
    write("a.sh", "{configVersion: v1, onStartup: 1}", script)
    with pytest.raises(error, match=message):
        await run(hooks, values, tmp_path)


async def test_hook_with_a_bad_configuration_is_named(
    hooks: Bench, values: SectionStore, write: Write, tmp_path: Path
) -> None:
    write("a.sh", "{configVersion: v7}", "")
    with pytest.raises(BadHookConfig, match=r"hook 'a\.sh'"):
        await run(hooks, values, tmp_path)


async def test_hook_that_declares_a_webhook_is_refused(
    hooks: Bench, values: SectionStore, write: Write, tmp_path: Path
) -> None:
    write("a.sh", "{configVersion: v1, kubernetesValidating: [{name: a.example.com}]}", "")
    with pytest.raises(BadHookConfig, match="hooks of addons answer no webhooks"):
        await run(hooks, values, tmp_path)


async def test_addon_without_hooks_has_nothing_to_say(hooks: Bench, values: SectionStore, tmp_path: Path) -> None:
    assert await run(hooks, values, tmp_path) == ()
