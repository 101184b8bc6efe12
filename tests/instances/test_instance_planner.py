"""What a run of an instance begins with, what its release is made from, and how a run's failure is kept.

Level: FakeApi."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from hookrunner.convergence.events import Notices
from hookrunner.convergence.plan import Fallback
from hookrunner.errors import BadValues, Denied, HookrunnerError, ReleaseFailed, RenderFailed, RunBlocked, RunPostponed
from hookrunner.instances.reports.reported_instances import ReportedInstances
from hookrunner.instances.status_reports import facts_of
from hookrunner.instances.units.live_unit import LiveUnit
from hookrunner.model.addon_status import Installed
from hookrunner.model.addons import FINALIZER, Requirements
from hookrunner.model.releases import Capabilities, Head, KeptObject, ReleaseOptions, ServiceAccount
from hookrunner.values.schemas.schema_files import load_of_addon
from kubetypes.json_values import JSON
from tests.instances.planner_world import KEPT, MAP, UNIT, World, plan, run
from tests.instances.samples import instance
from tests.instances.test_removal import Server
from tests.tables import each

PATCH = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"more": "yes"}}
ELSEWHERE = PATCH | {"metadata": {"name": "b"}}


def head(revision: int = 1, version: str = "1.0") -> Head:
    return Head(UNIT, "home", revision, "deployed", version=version)


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.put("2.0")
    world.put("1.0")
    return world


def reason_of(live: LiveUnit) -> str:
    """Why its last run did not reach the objects, in one word."""
    return live.obstacle.reason if live.obstacle else ""


async def test_run_finds_version_values_and_objects(world: World) -> None:
    live = world.live(instance(spec={"more": 1}))
    (made,) = await run(live)
    assert (made["metadata"]["namespace"], made["data"]) == ("default", {"text": "hi"})
    values = world.store.effective(UNIT)
    assert (values["more"], values["addon"]["version"], values["addon"]["channel"]) == (1, "1.0", "stable")
    assert (live.planner.present(live.state).version, live.obstacle, world.marked) == ("1.0", None, 1)


async def test_package_is_where_hooks_look_for_it(world: World) -> None:
    live = world.live(instance())
    assert live.subject.give().package_directory == ""
    await plan(live)
    assert (Path(live.subject.give().package_directory) / "a.yaml").read_text() == MAP


async def test_nothing_is_built_before_the_first_run(world: World) -> None:
    live = world.live(instance())
    with pytest.raises(RenderFailed, match=r"dns\.default\.x is not built yet: it has not run"):
        live.planner.present(live.state)


def test_status_says_what_is_installed_before_the_first_run_of_a_process(world: World) -> None:
    texts = {"version": "1.0", "digest": "sha256:a", "startedAt": "then", "channel": "stable", "commit": "c0"}
    known = Installed("1.0", "sha256:a", UNIT, 3, "then", "stable", serial=4, commit="c0")
    assert facts_of(world.live(instance()), texts | {"revision": 3, "serial": 4}, 0.0).installed == known
    assert facts_of(world.live(instance("new")), {}, 0.0).installed is None


async def test_digest_stays_when_the_first_run_has_installed_it(world: World) -> None:
    live = world.live(instance())
    first = await (await plan(live)).build.read_inputs()
    world.records.latest = head()
    assert await (await plan(live)).build.read_inputs() == first
    assert world.store.effective(UNIT)["addon"]["previousVersion"] == "1.0"
    live.planner.update(instance(spec={"version": "2.0"}))
    assert (await (await plan(live)).build.read_inputs()).digest != first.digest


async def test_closed_gate_leaves_what_the_last_run_began_with(world: World) -> None:
    live = world.live(instance())
    await plan(live)
    live.planner.update(instance(spec={"suspend": True, "version": "2.0"}))
    with pytest.raises(RunBlocked, match="suspended"):
        await plan(live)
    assert (live.planner.present(live.state).version, world.marked) == ("1.0", 1)
    assert reason_of(live) == "Suspended"
    live.planner.update(instance())
    await run(live)
    assert live.obstacle is None


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
    live = world.live(instance(spec=spec))
    with pytest.raises(error):
        await plan(live)
    assert live.obstacle is not None
    assert (live.obstacle.reason, live.obstacle.phase) == (reason, phase)
    assert (live.planner.prepared, world.marked) == (None, 0)
    reported = ReportedInstances(Notices(), world.metrics, lambda: 0.0)
    for _ in range(2):
        reported.count_failure(live.instance, live.state.failure, live.obstacle)
    counted = f'addon_run_errors_total{{addon="dns",name="x",namespace="default",reason="{reason}"}} 1'
    assert (counted in world.metrics.exposition().decode()) is (phase != "Pending")


async def test_error_of_a_run_becomes_its_obstacle(world: World) -> None:
    live = world.live(instance(spec={"patches": [ELSEWHERE]}))
    with pytest.raises(RunBlocked, match="the package has no"):  # it is not tried again by time
        await run(live)
    assert reason_of(live) == "NoMatch"
    live.state.fail("no", BadValues(UNIT, ["no"]))
    assert reason_of(live) == "SpecInvalid"


async def test_refused_object_is_the_fault_of_the_patch_that_changed_it(world: World) -> None:
    """Its author corrects it; any other refusal is rolled back."""
    live = world.live(instance(spec={"patches": [PATCH], "rollbackOnFailure": True}))
    world.status = {"lastHealthy": {"revision": 2}}
    planned = await plan(live)
    options = planned.with_rendered(await planned.build.render(True)).options
    assert options.blames_patches(["default/ConfigMap/a"])
    assert not options.blames_patches(["default/ConfigMap/b"])
    refused, blocked = ReleaseFailed("no", invalid=["default/ConfigMap/a"]), RunBlocked("no")
    blocked.__cause__ = refused
    live.state.fail("no", blocked)
    assert reason_of(live) == "SchemaInvalid"
    live.state.fail("no", refused)
    assert reason_of(live) == "ApplyFailed"
    assert (planned.fallback.revision, planned.fallback.after_errors) == (2, True)


async def test_object_for_a_newer_hookrunner_blocks_the_run(world: World) -> None:
    newer = MAP.replace("{name: a}", "{name: a, annotations: {addons.k8s.io/min-operator-version: '99.0.0'}}")
    world.put("1.0", a=newer)
    live = world.live(instance())
    with pytest.raises(RunBlocked, match=r"needs hookrunner 99\.0\.0"):
        await run(live)
    assert reason_of(live) == "Operator"


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
    build = (await plan(world.live(instance()))).build
    is_relevant = build.relevant(Capabilities("v1.35.0", ("v1",))) is not None
    assert ((await build.read_inputs()).looks_up, is_relevant) == (looks_up, reads)


async def test_edit_during_a_run_is_an_attempt_of_the_next_run(world: World) -> None:
    """Else the run would try what has failed once more, for the spec that it began with."""
    live = world.live(instance())
    before = (await plan(live)).attempt_digest("d")
    live.planner.update(instance(spec={"text": "new"}))
    assert live.planner.present(live.state).attempt_digest("d") == before
    assert (await plan(live)).attempt_digest("d") != before


async def test_edit_during_a_run_does_not_change_the_account_that_the_gates_looked_at(world: World) -> None:
    """Else who removes it at the right moment gets the rights of hookrunner, also with --addon-accounts require."""
    world.gates = replace(world.gates, account_required=True)
    live = world.live(instance(spec={"serviceAccountName": "web"}))
    world.while_marking = lambda: live.planner.update(instance(spec={}))
    planned, account = await plan(live), ServiceAccount("default", "web")
    assert (planned.options.account, planned.restoring.account) == (account, account)
    assert live.planner.present(live.state).restoring.account == account


async def test_revision_that_was_given_up_leads_back_to_the_healthy_one(world: World) -> None:
    live = world.live(instance())
    world.status = {"lastHealthy": {"revision": 4}}
    assert (await plan(live)).fallback == Fallback(4)
    live.planner.given_up.note(5, "late")
    planned = await plan(live)
    assert planned.fallback == Fallback(4, given_up=5, reason="late")
    assert planned.options.kept_revision == planned.restoring.kept_revision == 4


async def test_objects_get_marks_and_are_tried_before_they_are_written(world: World) -> None:
    options = (await plan(world.live(instance()))).options
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
    found = world.live(instance(status={"conditions": conditions, "hookReports": reports})).subject.reports.conditions
    assert [report.type for report in found] == ["T0"]


def test_instance_says_what_is_adopted_and_whether_that_is_deleted(world: World) -> None:
    specs: list[JSON] = [{}, {"adopt": True}, {"deletionPolicy": "Delete"}, {"deletionPolicy": "delete"}]
    found = [world.planner(instance(spec=spec)).options(ReleaseOptions()) for spec in specs]
    assert [(each.adopt, each.never_adopt, each.delete_adopted) for each in found] == [
        (False, False, False),
        (True, False, False),
        (False, False, True),
        (False, False, False),
    ]
    world.addon = replace(world.addon, never_adopts=True)
    assert world.planner(instance()).options(ReleaseOptions()).never_adopt


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
    live = world.live(instance(spec={"deletionPolicy": policy}))
    await live.planner.uninstall(live.state, head())
    assert world.records.removed == [f"{removed} home/{UNIT}", f"forgotten home/{UNIT}"]
    (event,) = world.events.bodies
    assert (event["reason"], event["message"], event["type"]) == ("Kept", str(kept), "Normal")
    assert event["involvedObject"]["uid"] == "u-1"


@pytest.mark.parametrize("is_new", [False, True])
async def test_policy_orphan_is_remembered_when_the_garbage_collector_is_quicker(is_new: bool, world: World) -> None:
    """Objects in other namespaces than the instance's have no owner reference whose loss would tell of it."""
    world.client = Server(None)
    deleted: dict[str, JSON] = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["orphan", FINALIZER]}
    live = world.live(instance(**deleted) if is_new else instance())
    live.planner.update(instance(**deleted))
    live.planner.update(instance(**deleted | {"finalizers": [FINALIZER]}))
    await live.planner.uninstall(live.state, head())
    assert world.records.removed == [f"abandoned home/{UNIT}", f"forgotten home/{UNIT}"]


async def test_preview_is_what_the_next_run_makes_and_changes_nothing(world: World) -> None:
    world.addon = replace(world.addon, unmatched_patches="warn")
    live = world.live(instance(spec={"patches": [ELSEWHERE]}))
    build = (await plan(live)).build
    rendered = await build.render(False)
    (made,) = rendered.objects
    assert (made["data"], len(rendered.unmatched), live.state.release.unmatched) == ({"text": "hi"}, 1, ())
    assert (await build.render(False)).objects == (made,)


async def test_patched_objects_are_given_to_the_writer_as_they_were_before(world: World) -> None:
    planned = await plan(world.live(instance(spec={"patches": [PATCH]})))
    unpatched = planned.with_rendered(await planned.build.render(True)).options.unpatched
    assert [*unpatched] == [("", "ConfigMap", "default", "a")]
    assert "more" not in unpatched["", "ConfigMap", "default", "a"].get("data", {})


@each("before", [{}, {"revision": 1, "version": "1.0.0", "digest": "sha256:other", "channel": "other"}])
async def test_choice_of_what_was_just_installed_is_known_before_a_status(world: World, before: JSON) -> None:
    """Its status may be that of the revision before, as the next run begins before it is written."""
    live = world.live(instance())
    planned = await plan(live)
    live.planner.installed = head(2, version=planned.version)
    installed = facts_of(live, before, 0.0).installed
    assert installed is not None
    assert live.planner.prepared is not None
    digest = live.planner.prepared.chosen.package.digest
    assert (installed.channel, installed.digest) == ("stable", digest) != ("stable", "")


@each(
    "spec, account",
    [({"serviceAccountName": "new"}, " as ServiceAccount default/new"), ({}, " as ServiceAccount default/old")],
)
async def test_objects_are_removed_as_the_account_that_is_named_or_has_written_them(
    world: World, spec: JSON, account: str
) -> None:
    """Who removes the field from the spec gets no right to delete by that."""
    live = world.live(instance(spec=spec))
    written = replace(head(), account=ServiceAccount("default", "old"))
    await live.planner.uninstall(live.state, written)
    assert f"torn down home/{UNIT}{account}" in world.records.removed
