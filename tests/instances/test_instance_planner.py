"""What a run of an instance begins with, what its release is made from, and how a run's failure is kept."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.convergence.unit_state import UnitState
from hookrunner.errors import (
    BadPatch,
    BadValues,
    Denied,
    HookrunnerError,
    ReleaseFailed,
    RenderFailed,
    RunBlocked,
    RunPostponed,
)
from hookrunner.instances.instance_planner import InstanceBlueprint
from hookrunner.instances.instance_registry import to_module
from hookrunner.instances.status_reports import facts_of
from hookrunner.model.addons import FINALIZER, Requirements
from hookrunner.model.releases import Head, KeptObject, ReleaseOptions
from hookrunner.values.schemas.schema_files import load_of_addon
from kubetypes.json_values import JSON
from tests.instances.planner_world import KEPT, MAP, UNIT, World
from tests.instances.samples import ADDON, instance
from tests.instances.test_removal import Server

PATCH = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"more": "yes"}}
ELSEWHERE = PATCH | {"metadata": {"name": "b"}}
ROLLED_BACK = Head(UNIT, "home", 3, "deployed", note="rolled-back", version="1.0")


def head(revision: int = 1, version: str = "1.0") -> Head:
    return Head(UNIT, "home", revision, "deployed", version=version)


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.put("2.0")
    world.put("1.0")
    return world


async def run(blueprint: InstanceBlueprint) -> tuple[JSON, ...]:
    """A run up to the objects, as it is where something has changed."""
    await blueprint.prepare()
    return (await blueprint.render(True)).objects


def reason_of(blueprint: InstanceBlueprint) -> str:
    """Why its last run did not reach the objects, in one word."""
    return blueprint.obstacle.reason if blueprint.obstacle else ""


async def test_run_finds_version_values_and_objects(world: World) -> None:
    blueprint = world.blueprint(instance(spec={"more": 1}))
    assert blueprint.version == ""
    (made,) = await run(blueprint)
    assert (made["metadata"]["namespace"], made["data"]) == ("default", {"text": "hi"})
    values = world.store.effective(UNIT)
    assert (values["more"], values["addon"]["version"], values["addon"]["channel"]) == (1, "1.0", "stable")
    assert (blueprint.version, blueprint.obstacle, world.marked) == ("1.0", None, 1)


async def test_package_is_where_hooks_look_for_it(world: World) -> None:
    blueprint = world.blueprint(instance())
    assert blueprint.give().package_directory == ""
    await blueprint.prepare()
    assert (Path(blueprint.give().package_directory) / "a.yaml").read_text() == MAP


async def test_nothing_is_built_before_the_first_run(world: World) -> None:
    blueprint = world.blueprint(instance())
    with pytest.raises(RenderFailed, match=r"dns\.default\.x is not built yet: it has not run"):
        await blueprint.read_inputs()


async def test_digest_stays_when_the_first_run_has_installed_it(world: World) -> None:
    blueprint = world.blueprint(instance())
    await blueprint.prepare()
    first = await blueprint.read_inputs()
    world.records.latest = head()
    await blueprint.prepare()
    assert await blueprint.read_inputs() == first
    assert world.store.effective(UNIT)["addon"]["previousVersion"] == "1.0"
    blueprint.update(instance(spec={"version": "2.0"}))
    await blueprint.prepare()
    assert (await blueprint.read_inputs()).digest != first.digest


async def test_closed_gate_leaves_what_the_last_run_began_with(world: World) -> None:
    blueprint = world.blueprint(instance())
    await blueprint.prepare()
    blueprint.update(instance(spec={"suspend": True, "version": "2.0"}))
    with pytest.raises(RunBlocked, match="suspended"):
        await blueprint.prepare()
    assert (blueprint.version, world.marked) == ("1.0", 1)
    assert reason_of(blueprint) == "Suspended"
    blueprint.update(instance())
    await blueprint.prepare()
    assert blueprint.obstacle is None


Refusal = tuple[Callable[[World], object], JSON, type[HookrunnerError], str, str]


def _require(world: World) -> None:
    world.addon = replace(world.addon, requires=Requirements(kinds=("a.io/v1/Thing",)))


def _need_newer_cluster(world: World) -> None:
    world.put("1.0", package="kubernetes: '>=1.99'\n")


def _want_short_texts(world: World) -> None:
    (openapi := world.directory / "openapi").mkdir()
    (openapi / "spec.yaml").write_text("type: object\nproperties: {text: {type: string, maxLength: 5}}\n")
    world.schemas = load_of_addon(world.directory, "addon")


@pytest.mark.parametrize(
    ("change", "spec", "error", "reason", "phase"),
    [
        (_require, {}, RunPostponed, "Waiting", "Pending"),
        (_need_newer_cluster, {}, RunBlocked, "Kubernetes", "VersionMismatch"),
        (id, {"version": "9.9"}, RunBlocked, "NotFound", "PackageError"),
        (id, {"channel": "next"}, RunBlocked, "NoChannel", "VersionMismatch"),
        (_want_short_texts, {"text": "too long"}, RunBlocked, "SpecInvalid", "RenderFailed"),
    ],
)
async def test_obstacle_says_what_stands_in_the_way(
    change: Callable[[World], object], spec: JSON, error: type[Exception], reason: str, phase: str, world: World
) -> None:
    change(world)
    blueprint = world.blueprint(instance(spec=spec))
    with pytest.raises(error) as raised:
        await blueprint.prepare()
    assert blueprint.obstacle is not None
    assert (blueprint.obstacle.reason, blueprint.obstacle.phase) == (reason, phase)
    blueprint.explain(raised.value)
    assert (blueprint.obstacle.reason, blueprint.prepared, world.marked) == (reason, None, 0)
    counted = f'addon_run_errors_total{{addon="dns",name="x",namespace="default",reason="{reason}"}} 1'
    assert (counted in world.metrics.exposition().decode()) is (phase != "Pending")


async def test_error_of_a_run_becomes_its_obstacle(world: World) -> None:
    blueprint = world.blueprint(instance(spec={"patches": [ELSEWHERE]}))
    with pytest.raises(BadPatch) as refused:
        await run(blueprint)
    with pytest.raises(RunBlocked, match="the package has no"):  # it is not tried again by time
        blueprint.explain(refused.value)
    assert reason_of(blueprint) == "NoMatch"
    blueprint.explain(BadValues(UNIT, ["no"]))
    assert reason_of(blueprint) == "SpecInvalid"


async def test_refused_object_is_the_fault_of_the_patch_that_changed_it(world: World) -> None:
    blueprint = world.blueprint(instance(spec={"patches": [PATCH], "rollbackOnFailure": True}))
    await run(blueprint)
    refused = ReleaseFailed("no", invalid=["default/ConfigMap/a"])
    with pytest.raises(RunBlocked):
        blueprint.explain(refused)
    assert reason_of(blueprint) == "SchemaInvalid"
    world.status = {"lastHealthy": {"revision": 2}}
    assert blueprint.target_after(refused, head(2)) == 0, "its author corrects it"
    assert blueprint.target_after(ReleaseFailed("no"), head(2)) == 2
    assert blueprint.given_up.reason == "no"


async def test_object_for_a_newer_hookrunner_blocks_the_run(world: World) -> None:
    newer = MAP.replace("{name: a}", "{name: a, annotations: {addons.k8s.io/min-operator-version: '99.0.0'}}")
    world.put("1.0", a=newer)
    blueprint = world.blueprint(instance())
    with pytest.raises(RunBlocked, match=r"needs hookrunner 99\.0\.0"):
        await run(blueprint)
    assert reason_of(blueprint) == "Operator"


@pytest.mark.parametrize(
    ("text", "reads", "looks_up"),
    [
        ("a: {{ .Values.dns.text }}", False, False),
        ("a: {{ .Capabilities.KubeVersion }}", True, False),
        ('a: {{ lookup "v1" "Node" "" "" }}', False, True),
    ],
)
async def test_template_says_whether_a_chart_depends_on_the_cluster(
    text: str, reads: bool, looks_up: bool, world: World
) -> None:
    """One that looks things up is rendered in each run; one that reads capabilities, when these change."""
    package = world.directory / "packages/dns/1.0"
    (package / "Chart.yaml").write_text("apiVersion: v2\nname: dns\nversion: 1.0.0\n")
    (package / "templates").mkdir()
    (package / "templates/a.yaml").write_text(text)
    blueprint = world.blueprint(instance())
    assert blueprint.reads_capabilities, "nothing is known yet"
    await blueprint.prepare()
    assert ((await blueprint.read_inputs()).looks_up, blueprint.reads_capabilities) == (looks_up, reads)


async def test_unmatched_patch_of_a_refused_attempt_is_forgotten_with_it(world: World) -> None:
    """Going back to the spec that is installed renders nothing."""
    world.addon = replace(world.addon, unmatched_patches="warn")
    before = instance(spec={"patches": [PATCH]})
    blueprint = world.blueprint(before)
    await run(blueprint)
    blueprint.settle(head())
    assert not blueprint.unmatched
    blueprint.update(instance(spec={"patches": [PATCH, ELSEWHERE]}))
    await run(blueprint)
    blueprint.explain(ReleaseFailed("refused"))
    [problem] = blueprint.unmatched
    assert "b" in problem
    blueprint.update(before)
    await blueprint.prepare()
    blueprint.settle(head())
    assert blueprint.unmatched == ()


async def test_unmatched_patch_is_known_after_a_restart_and_not_of_a_restored_revision(world: World) -> None:
    world.addon = replace(world.addon, unmatched_patches="warn")
    condition = {"type": "PatchesApplied", "status": "False", "reason": "NoMatch", "message": "no such object"}
    blueprint = world.blueprint(instance(spec={"patches": [ELSEWHERE]}, status={"conditions": [condition]}))
    await blueprint.prepare()
    blueprint.settle(head())
    assert blueprint.unmatched == ("no such object",)
    await blueprint.render(False)
    blueprint.settle(ROLLED_BACK)
    await blueprint.prepare()
    assert blueprint.unmatched == ("no such object",)


async def test_edit_during_a_run_is_an_attempt_of_the_next_run(world: World) -> None:
    """Else the run would try what has failed once more, for the spec that it began with."""
    blueprint = world.blueprint(instance())
    await blueprint.prepare()
    before = blueprint.attempt_digest("d")
    blueprint.update(instance(spec={"text": "new"}))
    assert blueprint.attempt_digest("d") == before
    await blueprint.prepare()
    assert blueprint.attempt_digest("d") != before


async def test_revision_that_was_given_up_leads_back_to_the_healthy_one(world: World) -> None:
    blueprint = world.blueprint(instance())
    world.status = {"lastHealthy": {"revision": 4}}
    assert blueprint.target_instead(head(5)) == 0
    blueprint.given_up.note(5, "late")
    assert (blueprint.target_instead(head(5)), blueprint.target_instead(head(6))) == (4, 0)
    assert blueprint.options(ReleaseOptions()).kept_revision == 4


def test_objects_get_marks_and_are_tried_before_they_are_written(world: World) -> None:
    options = world.blueprint(instance()).options(ReleaseOptions(timeout=7.0))
    assert options.marks is not None
    assert options.marks.owner is not None
    assert (options.marks.labels["hookrunner.io/addon"], options.marks.owner.uid) == (UNIT, "u-1")
    assert (options.dry_run, options.respect_ignore, options.recreate_jobs, options.timeout) == (True, True, True, 7.0)
    assert ("", "Namespace") in options.kept_kinds


def test_status_of_others_does_not_tell_which_files_exist(world: World) -> None:
    """Nor stops a path that no file can have the start of the instance."""
    (hooks := world.directory / "hooks").mkdir()
    for path in (hooks / "a.sh", world.directory / "secret"):
        path.touch()
    world.addon = replace(world.addon, directory=world.directory)
    paths = [
        "hooks/a.sh",
        "secret",
        "hooks/../secret",
        str(world.directory / "secret"),
        "hooks/" + "a" * 5000,
        "hooks/\0",
    ]
    reports = [{"type": f"T{number}", "hook": path} for number, path in enumerate(paths)]
    conditions = [{"type": report["type"], "status": "True"} for report in reports]
    found = world.blueprint(instance(status={"conditions": conditions, "hookReports": reports})).hook_conditions
    assert [report.type for report in found] == ["T0"]


def test_instance_says_what_is_adopted_and_whether_that_is_deleted(world: World) -> None:
    specs: list[JSON] = [{}, {"adopt": True}, {"deletionPolicy": "Delete"}, {"deletionPolicy": "delete"}]
    found = [world.blueprint(instance(spec=spec)).options(ReleaseOptions()) for spec in specs]
    assert [(each.adopt, each.never_adopt, each.delete_adopted) for each in found] == [
        (False, False, False),
        (True, False, False),
        (False, False, True),
        (False, False, False),
    ]
    world.addon = replace(world.addon, never_adopts=True)
    assert world.blueprint(instance()).options(ReleaseOptions()).never_adopt


LEFT = KeptObject("objects (1)", "its deletionPolicy is Orphan")


NO_EVENTS = Denied(403, "Forbidden", "no right")


@pytest.mark.parametrize(
    ("policy", "removed", "kept", "error"),
    [
        ("Delete", "torn down", KEPT, None),
        ("Orphan", "abandoned", LEFT, None),
        ("Delete", "torn down", KEPT, NO_EVENTS),
    ],
)
async def test_deletion_policy_says_what_becomes_of_objects(
    policy: str, removed: str, kept: KeptObject, error: Denied | None, world: World
) -> None:
    """The Event that says what stays is tried before the records are deleted, whether it can be written or not."""
    world.events.error = error
    await world.blueprint(instance(spec={"deletionPolicy": policy})).uninstall(head())
    assert world.records.removed == [f"{removed} home/{UNIT}", f"forgotten home/{UNIT}"]
    (event,) = world.events.bodies
    assert (event["reason"], event["message"], event["type"]) == ("Kept", str(kept), "Normal")
    assert event["involvedObject"]["uid"] == "u-1"


@pytest.mark.parametrize("is_new", [False, True])
async def test_policy_orphan_is_remembered_when_the_garbage_collector_is_quicker(is_new: bool, world: World) -> None:
    """Objects in other namespaces than the instance's have no owner reference whose loss would tell of it."""
    world.client = Server(None)
    deleted: dict[str, JSON] = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["orphan", FINALIZER]}
    blueprint = world.blueprint(instance(**deleted) if is_new else instance())
    blueprint.update(instance(**deleted))
    blueprint.update(instance(**deleted | {"finalizers": [FINALIZER]}))
    await blueprint.uninstall(head())
    assert world.records.removed == [f"abandoned home/{UNIT}", f"forgotten home/{UNIT}"]


async def test_preview_is_what_the_next_run_makes_and_changes_nothing(world: World) -> None:
    world.addon = replace(world.addon, unmatched_patches="warn")
    blueprint = world.blueprint(instance(spec={"patches": [ELSEWHERE]}))
    await blueprint.prepare()
    (made,) = (await blueprint.preview(False)).objects
    assert (made["data"], blueprint.unmatched) == ({"text": "hi"}, ())
    assert (await blueprint.render(False)).objects == (made,)
    assert len(blueprint.unmatched) == 1


async def test_ignored_fields_are_kept_until_their_object_is_written_again_or_leaves(world: World) -> None:
    blueprint = world.blueprint(instance())
    blueprint.note_faults({"default/ConfigMap/a": ".datta", "ClusterRole/b": ".rule"}, None)
    assert [*blueprint.unknown_fields] == ["ClusterRole/b: .rule", "default/ConfigMap/a: .datta"]
    role = {"kind": "ClusterRole", "metadata": {"name": "b"}}
    blueprint.note_faults({}, [role, {"kind": "Secret", "metadata": {"name": "a"}}])
    assert [*blueprint.unknown_fields] == ["ClusterRole/b: .rule"]
    blueprint.note_faults({"ClusterRole/b": ""}, [role])
    assert [*blueprint.unknown_fields] == []


async def test_patched_objects_are_given_to_the_writer_as_they_were_before(world: World) -> None:
    blueprint = world.blueprint(instance(spec={"patches": [PATCH]}))
    await run(blueprint)
    unpatched = blueprint.options(ReleaseOptions()).unpatched
    assert [*unpatched] == [("", "ConfigMap", "default", "a")]
    assert "more" not in unpatched["", "ConfigMap", "default", "a"].get("data", {})


async def test_channel_of_what_was_just_installed_is_known_before_a_status(world: World) -> None:
    blueprint = world.blueprint(instance())
    await run(blueprint)
    blueprint.installed = head(1, version=blueprint.version)
    facts = facts_of(UnitState(to_module(ADDON, instance()), blueprint=blueprint), blueprint, {}, 0.0)
    assert facts.installed is not None
    assert facts.installed.channel == "stable"
