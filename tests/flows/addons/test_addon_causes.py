"""Every state of an instance by its real cause, on the sandbox and on a real control plane: reached, shown in status,
conditions, Events, metrics and tables, and left when the cause is gone.

`InternalError` is a fault of hookrunner, which no user can arrange: tests/instances/lives/test_internal_errors.py does.

Level: control plane.
"""

import asyncio
import os
import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from hookrunner.model.addon_status import REASONS, AddonPhase
from tests.controlplane.tools import find_tool
from tests.flows.addons.caused_addons import GROUP
from tests.flows.addons.causes import CAUSES, ELSEWHERE, FIRST, LATECOMERS, Cause
from tests.flows.addons.causes_world import CausesWorld

HEALTHY_FIRST = (*CAUSES, FIRST)
EVERY = (*HEALTHY_FIRST, ELSEWHERE, *LATECOMERS)
MENDED = tuple(cause for cause in CAUSES if cause.name not in ("held", "kept"))
"""The other two have something to show when they are deleted."""
STEPS = {"resolve", "fetch", "hooks", "render", "apply"}
CONDITIONS = {
    "notified": ("UpdateAvailable", "True", "UpdateAvailable"),
    "vanished": ("UpdateAvailable", "Unknown", "ChannelUnreadable"),
    "untested": ("VersionSupported", "False", "Untested"),
    "lenient": ("PatchesApplied", "False", "NoMatch"),
    "ambiguous": ("PatchesApplied", "False", "Ambiguous"),
    "not-allowed": ("PatchesApplied", "False", "NotAllowed"),
    "report": ("Troubled", "True", "Troubled"),
}
"""Conditions besides Ready, Available, Reconciling and Stalled."""


def test_the_table_names_every_reason_but_three() -> None:
    """Others are reached when an instance is deleted, or replaced (`test_replacement_story.py`)."""
    every = {(phase.value, reason) for phase, reasons in REASONS.items() for reason in reasons}
    shown = {(cause.phase, cause.reason) for cause in EVERY}
    others = {("InternalError", "InternalError"), ("Terminating", "Terminating"), ("Conflict", "Replaced")}
    assert every - shown == others


async def test_each_state_is_reached_by_its_cause_shown_and_left(causes: CausesWorld) -> None:
    await causes.begin()
    await causes.create((*HEALTHY_FIRST, ELSEWHERE))
    await causes.reach(HEALTHY_FIRST, lambda cause: cause.before)
    maps = await causes.world.maps()

    await causes.change_the_world()
    await causes.change(CAUSES, lambda cause: cause.change)
    await causes.create(LATECOMERS)
    shown = await causes.reach(EVERY, lambda cause: cause.after)
    assert wrong_statuses(shown) == {}
    await causes.world.until(lambda: touched_maps(causes, maps), {}, "objects that changed")
    await causes.world.until(lambda: missing_events(causes, EVERY), {}, "Events", longest=1.0)
    check_metrics(causes, shown)
    await check_tables(causes)
    assert await repeated_events(causes) == {}
    await restart(causes)

    await causes.mend_the_world()
    await causes.change(MENDED, lambda cause: cause.mend)
    await causes.reach(MENDED, lambda cause: cause.before)
    await remove(causes)


def wrong_statuses(shown: Mapping[str, Any]) -> dict[str, Any]:
    """Statuses that say something else than their phase and reason mean."""
    return {cause.name: shown[cause.name] for cause in EVERY if not is_right(cause, shown[cause.name])}


def is_right(cause: Cause, status: Any) -> bool:
    """Does it agree with itself, and name the cause?"""
    conditions = {entry["type"]: (entry["status"], entry["reason"]) for entry in status["conditions"]}
    kind, *condition = CONDITIONS.get(cause.name, ("Ready", *conditions["Ready"]))
    progress = {"reconciling": {"Reconciling"}, "stalled": {"Stalled"}}
    healthy = cause.phase == "Current"
    return (
        status["healthy"] is healthy
        and bool(status["errors"]) is not healthy
        and cause.words in (status["errors"] or [""])[0]
        and conditions["Ready"] == (str(healthy), cause.reason)
        and conditions.keys() & {"Reconciling", "Stalled"}
        == progress.get(REASONS[AddonPhase(cause.phase)][cause.reason], set())
        and conditions[kind] == tuple(condition)
    )


async def touched_maps(causes: CausesWorld, before: Mapping[str, Any]) -> dict[str, Any]:
    """The ConfigMaps that differ although the version is the one before, or one of them was deleted by hand."""
    after = await causes.world.maps()
    kept = {cause.name for cause in CAUSES if cause.phase != "Current" and cause.version == "1.0.0"}
    names = [f"of-{name}" for name in kept - {"report"} | {"first"}]
    return {name: after.get(name) for name in names if before[name] != after.get(name)}


async def missing_events(causes: CausesWorld, instances: Iterable[Cause]) -> dict[str, set[str]]:
    """What has not been told of these instances yet."""
    told = await causes.reasons()
    healthy = {cause.name for cause in HEALTHY_FIRST}
    wanted = {
        cause.name: {*cause.events, *({"Applied", "Healthy"} if cause.name in healthy else ())} for cause in instances
    }
    missing = {name: reasons - told.get(name, set()) for name, reasons in wanted.items()}
    return {name: reasons for name, reasons in missing.items() if reasons}


async def repeated_events(causes: CausesWorld) -> dict[tuple[str, str, str], int]:
    """Those that say the same of one instance: runs that failed were tried again, and each told only once."""
    return {event: times for event, times in Counter(await causes.events()).items() if times > 1}


def check_metrics(causes: CausesWorld, shown: Mapping[str, Any]) -> None:
    """Each family says what the statuses say."""
    samples = causes.samples()
    assert {one["name"]: one["phase"] for one in samples["addon_phase"]} == {c.name: c.phase for c in EVERY}
    assert {one["name"]: one["version"] for one in samples["addon_info"]} == {
        c.name: c.version for c in EVERY if c.version
    }
    assert {one["name"] for one in samples["addon_healthy"]} == shown.keys()
    assert [(one["name"], one["version"]) for one in samples["addon_update_available"]] == [("notified", "2.0.0")]
    assert {one["status"] for one in samples["addon_objects"]} >= {"Current", "InProgress", "Failed"}
    assert {one["step"] for one in samples["addon_run_seconds_count"]} == STEPS
    counted = {(one["name"], one["reason"]) for one in samples["addon_run_errors_total"]}
    stalled = {
        (c.name, c.reason) for c in EVERY if c.phase in ("Conflict", "VersionMismatch", "PackageError", "PatchFailed")
    }
    assert stalled - counted == set()
    fetches = {one["result"] for one in samples["addon_package_fetches_total"]}
    assert fetches >= {"read", "fetched", "cached", "NotFound", "Malformed", "TooLarge", "DigestChanged", "Unverified"}
    reads = {one["result"] for one in samples["addon_channel_reads_total"]}
    assert reads == {"read", "NoChannel", "Malformed", "Unreachable"}
    assert samples["addon_package_cache_bytes"] == [{}]


async def check_tables(causes: CausesWorld) -> None:
    """What `kubectl get` prints."""
    listed = await kubectl(causes, "get", f"plains.{GROUP}", "-n", causes.world.namespace, "-o", "wide")
    header, *rows = [line.split() for line in listed.splitlines()]
    usual, wide = ["VERSION", "PHASE", "HEALTHY", "OBJECTS", "UPDATE", "UNMANAGED", "AGE"], ["CHANNEL", "MESSAGE"]
    assert header == ["NAME", *usual, *wide]
    (notified,) = [row for row in rows if row[0] == "notified"]
    assert notified[1:6] == ["1.0.0", "Current", "true", "1/1", "2.0.0"]
    selected = ("--field-selector=status.phase=Failed", "-o", "name", "-n", causes.world.namespace)
    failed = (await kubectl(causes, "get", f"plains.{GROUP}", *selected)).split()
    assert [name.rpartition("/")[2] for name in failed] == ["job", "late", "stuck"]


async def restart(causes: CausesWorld) -> None:
    """Kill it and start it again: every run comes to the same result, and nothing is written for that. Of a Deployment
    that is stuck first its Pod tells, and then its own deadline."""
    before = await statuses_without(causes, "stuck")
    causes.world.operator.kill()
    causes.world.writes()
    await causes.world.start(ready=False)  # it would wait for the hook that hangs

    async def unfinished() -> set[str]:
        runs = causes.run_counts()
        return {cause.name for cause in EVERY if not runs.get(cause.name)}

    await causes.world.until(unfinished, {"hang"}, "instances without a run", longest=1.0)
    assert [line for line in causes.world.writes() if "/stuck/status" not in line] == []
    assert await statuses_without(causes, "stuck") == before


async def statuses_without(causes: CausesWorld, name: str) -> dict[str, Any]:
    """The statuses of all instances but one."""
    shown = await causes.statuses()
    del shown[name]
    return shown


async def kubectl(causes: CausesWorld, *words: str) -> str:
    """What kubectl prints."""
    environ = dict(os.environ, KUBECONFIG=str(causes.world.operator.kubeconfig))
    command = [str(find_tool("kubectl")), *words]
    done = await asyncio.to_thread(subprocess.run, command, env=environ, capture_output=True, text=True, check=True)
    return done.stdout


async def remove(causes: CausesWorld) -> None:
    """Delete all instances, of which one has an object that may not go."""
    await causes.delete(EVERY)

    async def remaining() -> dict[str, str]:
        return {name: status["phase"] for name, status in (await causes.statuses()).items()}

    await causes.world.until(remaining, {"held": "Terminating"}, "what remains", longest=1.0)
    await causes.release_held()
    await causes.world.until(causes.instances, [], "instances")
    assert [
        release for release in await causes.world.releases() if "alpha" not in release and "other" not in release
    ] == []
    left = {name for name in await causes.world.maps() if name.startswith("of-")}
    assert left == {"of-kept-kept"}
    await causes.world.until(lambda: series_of_instances(causes), [], "series of instances that are gone")
    await causes.world.until(lambda: has_told(causes, "kept", {"Deleting", "Kept"}), True, "the Event Kept")


async def series_of_instances(causes: CausesWorld) -> list[str]:
    """What the metrics still say of any instance."""
    return [name for name, series in causes.samples().items() for labels in series if "name" in labels]


async def has_told(causes: CausesWorld, name: str, reasons: set[str]) -> bool:
    """Are there Events for these reasons?"""
    return reasons <= (await causes.reasons()).get(name, set())
