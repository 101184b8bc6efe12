"""Makes the status of an instance of what is known about it: phase, errors, conditions. Says in the words of the status
why a run failed. Pure; the writer is elsewhere.

    healthy  is True exactly in the phase Current, when Ready is True; errors are then empty
    Available  says that what is installed works, even if the desired state is not reached

What a user wrote and has to change stalls; what may pass by itself is retried with the back-off. An error that no rule
names is a fault of hookrunner: its text stays in the log, since it may quote a value.

A condition keeps the time of its last transition as long as its status stays, so that equal facts give an equal status.
Sources: docs/addons.md#status, https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md,
https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from hookrunner.addons.version_resolver import package_obstacle
from hookrunner.errors import (
    BadHookConfig,
    BadPatch,
    BadValues,
    HookFailed,
    HookrunnerError,
    KubeError,
    ObjectOwned,
    PackageError,
    PatchFailed,
    ReleaseFailed,
    RunBlocked,
    RunObstructed,
    internal,
)
from hookrunner.model.addon_status import (
    OWN_CONDITIONS,
    AddonObstacle,
    AddonPhase,
    HookCondition,
    InstanceFacts,
    ObjectReport,
    ProtectionState,
)
from hookrunner.model.addons import RECONCILE
from hookrunner.model.status import IGNORED, shortened
from hookrunner.printable import printable_text
from kubetypes.json_values import JSON

_ALWAYS = ("healthy", "errors", "observedGeneration")
"""Upstream's fields, which its operators write always."""
_MOST_ERRORS = 50
_LONGEST_ERROR = 2000
_SEPARATOR = "; "
_PINNED = f"brought back on request, until the spec, the package or the annotation {RECONCILE} changes"
_NOT_STARTED = AddonObstacle(AddonPhase.APPLYING, "Applying", "nothing is installed yet")
_HOOKS = (HookFailed, PatchFailed, BadHookConfig)
_WRITING = (ReleaseFailed, KubeError)


def make_status(facts: InstanceFacts, previous: JSON, now: str) -> dict[str, JSON]:
    """The status of an instance. `previous` is its present status, `now` the time (RFC 3339) for conditions whose
    status changes. Keys without a value are left out."""
    state = state_of(facts)
    healthy = state.phase is AddonPhase.CURRENT
    errors = [] if healthy else _errors(facts, state)
    conditions = _conditions(facts, state, errors)
    hooks = (report for report in facts.hook_conditions if report.hook)
    reports = [{"type": report.type, "hook": report.hook, "healthy": report.healthy} for report in hooks]
    status: dict[str, JSON] = {
        "healthy": healthy,
        "errors": errors,
        "phase": state.phase.value,
        "observedGeneration": facts.generation,
        **_installed(facts),
        "availableVersion": facts.available_version,
        "objects": _counts(facts.objects),
        "conditions": _stamped(conditions, previous, now, facts.generation),
        "hookReports": reports or None,
    }
    return {key: value for key, value in status.items() if key in _ALWAYS or value not in ("", None)}


def state_of(facts: InstanceFacts) -> AddonObstacle:
    """The phase and the reason of Ready, the most serious first. For the phase Current there is no obstacle, and the
    message says that everything is fine."""
    if facts.obstacle:
        return facts.obstacle
    if facts.rolled_back:
        return AddonObstacle(AddonPhase.ROLLED_BACK, "RolledBack", facts.rolled_back)
    if facts.installed is None:
        return _NOT_STARTED
    if failed := _of(facts.objects, "Failed"):
        return AddonObstacle(AddonPhase.FAILED, "ObjectsFailed", str(failed[0]))
    unready = _unready(facts.objects)
    if unready and facts.timed_out:
        text = f"not all objects are ready after {facts.fields.timeout:g} s: {unready[0]}"
        return AddonObstacle(AddonPhase.FAILED, "TimedOut", text)
    if unready or facts.objects is None:
        text = str(unready[0]) if unready else "the objects have not been seen yet"
        return AddonObstacle(AddonPhase.IN_PROGRESS, "ObjectsNotReady", text)
    if unhealthy := [condition for condition in facts.hook_conditions if not condition.healthy]:
        return AddonObstacle(AddonPhase.IN_PROGRESS, "HookReport", _reported(unhealthy[0].type, unhealthy[0].message))
    pinned = f"; it was {_PINNED}" if facts.installed.pinned else ""
    text = f"version {facts.installed.version} is installed and works{pinned}"
    return AddonObstacle(AddonPhase.CURRENT, "Current", text)


def _of(objects: Sequence[ObjectReport] | None, status: str) -> list[ObjectReport]:
    return [health for health in objects or () if health.status == status]


def _unready(objects: Sequence[ObjectReport] | None) -> list[ObjectReport]:
    """Those that are not current, failed ones first, unknown ones last."""
    order = ("Failed", "NotFound", "Terminating", "InProgress", "Unknown")
    return [health for status in order for health in _of(objects, status)]


def _reported(kind: str, message: str) -> str:
    return f"{kind}: {message}" if message else kind


def _errors(facts: InstanceFacts, state: AddonObstacle) -> list[str]:
    """Every obstacle, the most serious first, each once."""
    lines = [
        state.message,
        *map(str, _unready(facts.objects)),
        *(_reported(condition.type, condition.message) for condition in facts.hook_conditions if not condition.healthy),
    ]
    unique = [*dict.fromkeys(_cut(line) for line in lines if line == state.message or line not in state.message)]
    more = len(unique) - _MOST_ERRORS
    return unique if more <= 0 else [*unique[:_MOST_ERRORS], f"and {more} more"]


def _cut(text: str) -> str:
    """A message as a status has it. Hooks, charts and API servers write them: a terminal obeys nothing in it."""
    return shortened(printable_text(text), _LONGEST_ERROR + 1)


# ── conditions ────────────────────────────────────────────────────────────────────────────────────────────────────


def _conditions(facts: InstanceFacts, state: AddonObstacle, errors: Sequence[str]) -> Iterator[dict[str, str]]:
    ready = state.phase is AddonPhase.CURRENT
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    message = state.message if ready else f"{errors[0]}{more}"
    yield _condition("Ready", ready, state.reason, message)
    yield _availability(facts)
    if state.progress == "reconciling":
        yield _condition("Reconciling", True, state.reason, message)
    elif state.progress == "stalled":
        yield _condition("Stalled", True, state.reason, message)
    if facts.fields.patches:
        yield _patches(facts, state)
    yield from _about_versions(facts)
    yield from _about_objects(facts)
    for report in facts.hook_conditions:
        if report.type not in OWN_CONDITIONS:
            yield {"type": report.type, "status": report.status, "reason": report.reason, "message": report.message}


def _condition(kind: str, holds: bool | None, reason: str, message: str) -> dict[str, str]:
    status = "Unknown" if holds is None else str(holds)
    return {"type": kind, "status": status, "reason": reason, "message": message}


def _availability(facts: InstanceFacts) -> dict[str, str]:
    """Does what is installed work?"""
    if facts.obstacle and facts.obstacle.phase is AddonPhase.CURRENT:  # of a kind that installs nothing itself
        return _condition("Available", True, "Available", facts.obstacle.message)
    if facts.installed is None:
        return _condition("Available", False, "NotInstalled", "nothing is installed")
    unready = _unready(facts.objects)
    if facts.objects is None or (unready and unready[0].status == "Unknown"):
        return _condition("Available", None, "ObjectsUnknown", str(unready[0]) if unready else "not seen yet")
    if unready:
        reason = "ObjectsFailed" if unready[0].status == "Failed" else "ObjectsNotReady"
        return _condition("Available", False, reason, str(unready[0]))
    return _condition("Available", True, "Available", f"version {facts.installed.version} works")


def _about_versions(facts: InstanceFacts) -> Iterator[dict[str, str]]:
    if facts.available_version:
        text = f"version {facts.available_version} is available; set spec.version, or updatePolicy: automatic"
        yield _condition("UpdateAvailable", True, "UpdateAvailable", text)
    elif facts.unread_channel:
        yield _condition("UpdateAvailable", None, "ChannelUnreadable", facts.unread_channel)
    if facts.untested:
        yield _condition("VersionSupported", False, "Untested", facts.untested)


def _about_objects(facts: InstanceFacts) -> Iterator[dict[str, str]]:
    if facts.unknown_fields:
        yield _condition("FieldsKnown", False, "UnknownFields", unknown_fields_message(facts.unknown_fields))
    if facts.leftovers:
        yield _condition("NodesClean", None, "Replaced", facts.leftovers)
    if protection := facts.protection:
        words = {"reason": protection.reason, "message": protection.message}
        yield {"type": "Protected", "status": protection.status, **words}


def _patches(facts: InstanceFacts, state: AddonObstacle) -> dict[str, str]:
    """Whether the patches have changed the objects; unknown if they were not tried."""
    if state.phase is AddonPhase.PATCH_FAILED:
        return _condition("PatchesApplied", False, state.reason, state.message)
    if facts.unmatched_patches:
        return _condition("PatchesApplied", False, "NoMatch", "; ".join(facts.unmatched_patches))
    if facts.obstacle or facts.rolled_back or facts.installed is None:
        return _condition("PatchesApplied", None, "NotTried", f"not tried in the phase {state.phase.value}")
    number = len(facts.fields.patches)
    counted = "1 patch is" if number == 1 else f"{number} patches are"
    return _condition("PatchesApplied", True, "Applied", f"{counted} applied")


def hook_conditions_before(status: JSON) -> tuple[HookCondition, ...]:
    """What hooks have reported to an earlier process, as a status has it. Without `hookReports`, which a definition of
    someone else may lack, nothing: no hook's next run would end such a condition."""
    known = _by_type(status)
    listed = status.get("hookReports") if isinstance(status, dict) else None
    reports = (entry for entry in listed or () if isinstance(entry, dict) and entry.get("type") in known)
    return tuple(_reported_before(known[entry["type"]], entry) for entry in reports)


def _reported_before(condition: Mapping[str, JSON], entry: Mapping[str, JSON]) -> HookCondition:
    return HookCondition(
        type=entry["type"],
        status=condition.get("status", "Unknown"),
        reason=str(condition.get("reason") or ""),
        message=str(condition.get("message") or ""),
        healthy=entry.get("healthy") is not False,
        hook=str(entry.get("hook") or ""),
    )


def _by_type(status: JSON) -> dict[JSON, dict[str, JSON]]:
    """The conditions of a status, which may be anyone's."""
    listed = status.get("conditions") if isinstance(status, dict) else None
    return {entry.get("type"): entry for entry in listed or () if isinstance(entry, dict)}


def protection_before(status: JSON) -> ProtectionState | None:
    """What a status says of the protection of objects, None if it says nothing."""
    known = _by_type(status).get("Protected")
    if known is None or known.get("status") not in ("True", "False", "Unknown"):
        return None
    return ProtectionState(known["status"], str(known.get("reason") or ""), str(known.get("message") or ""))


def unmatched_before(status: JSON) -> tuple[str, ...]:
    """What a status says of patches without an object. After a restart with nothing to render only the status knows
    it; what the patches do to another spec or version is found out by rendering."""
    known = _by_type(status).get("PatchesApplied", {})
    is_unmatched = (known.get("status"), known.get("reason")) == ("False", "NoMatch")
    is_refused = isinstance(status, dict) and status.get("phase") == AddonPhase.PATCH_FAILED
    return (str(known.get("message") or ""),) if is_unmatched and not is_refused else ()


def unknown_fields_message(unknown_fields: Iterable[str]) -> str:
    """The message of the condition FieldsKnown; empty if all fields are known."""
    text = _SEPARATOR.join(unknown_fields)
    return f"{IGNORED}: {text}" if text else ""


def unknown_fields_before(status: JSON) -> dict[str, str]:
    """The fields that the API server ignores, as a status names them, by object. Objects that do not change are not
    written again after a restart."""
    message = str(_by_type(status).get("FieldsKnown", {}).get("message") or "").partition(": ")[2]
    entries = (entry.partition(": ") for entry in message.removesuffix("…").split(_SEPARATOR))
    return {name: text for name, _, text in entries if text}


def _stamped(conditions: Iterable[dict[str, str]], previous: JSON, now: str, generation: int) -> list[JSON]:
    """The conditions with their generation and the time of their last transition."""
    before = _by_type(previous)
    stamped = []
    for condition in conditions:
        old = before.get(condition["type"], {})
        same = old.get("status") == condition["status"] and isinstance(old.get("lastTransitionTime"), str)
        since = old["lastTransitionTime"] if same else now
        stamped.append(
            condition
            | {"message": _cut(condition["message"]), "lastTransitionTime": since, "observedGeneration": generation}
        )
    return stamped


# ── what is installed ─────────────────────────────────────────────────────────────────────────────────────────────


def _installed(facts: InstanceFacts) -> Mapping[str, JSON]:
    installed, healthy = facts.installed, facts.last_healthy
    if installed is None:
        return {}
    return {
        "version": installed.version,
        "channel": installed.channel,
        "serial": installed.serial or None,
        "digest": installed.digest,
        "commit": installed.commit,
        "release": installed.release,
        "revision": installed.revision,
        "startedAt": installed.started_at,
        "lastHealthy": healthy and {"version": healthy.version, "revision": healthy.revision, "time": healthy.time},
    }


def _counts(objects: Sequence[ObjectReport] | None) -> JSON:
    if objects is None:
        return None
    total, current = len(objects), len(_of(objects, "Current"))
    return {"total": total, "current": current, "ready": f"{current}/{total}"}


def obstacle_of_run(error: Exception) -> AddonObstacle:
    """Why a run has failed with this error: an obstacle that the run has named itself, or what the error means. A run
    that is blocked because of another error was blocked by a patch."""
    if isinstance(error, RunObstructed) and isinstance(error.obstacle, AddonObstacle):
        return error.obstacle
    cause = error.__cause__ if isinstance(error, RunBlocked) else None
    if isinstance(cause, ReleaseFailed):
        return obstacle_of(cause, cause.invalid)
    return obstacle_of(cause if isinstance(cause, HookrunnerError) else error)


def obstacle_of(error: Exception, patched: Collection[str] = ()) -> AddonObstacle:
    """Why a run failed. `patched` are the objects that the instance's patches have changed, as `ReleaseFailed.invalid`
    names objects: if the API server has refused the content of one of them, the patch is the cause."""
    match error:
        case PackageError():
            return package_obstacle(error)
        case BadPatch():
            return AddonObstacle(AddonPhase.PATCH_FAILED, error.reason, str(error))
        case ReleaseFailed() if set(error.invalid) & set(patched):
            return AddonObstacle(AddonPhase.PATCH_FAILED, "SchemaInvalid", str(error))
        case BadValues():
            return AddonObstacle(AddonPhase.RENDER_FAILED, "SpecInvalid", str(error))
    if isinstance(error, ObjectOwned):
        return AddonObstacle(AddonPhase.CONFLICT, "Owned", str(error))
    if isinstance(error, _HOOKS):
        return AddonObstacle(AddonPhase.RENDER_FAILED, "HookFailed", str(error))
    if isinstance(error, _WRITING):
        return AddonObstacle(AddonPhase.APPLYING, "ApplyFailed", str(error))
    if isinstance(error, HookrunnerError):
        return AddonObstacle(AddonPhase.RENDER_FAILED, "RenderFailed", str(error))
    return AddonObstacle(AddonPhase.INTERNAL_ERROR, "InternalError", f"{internal(error)}; please report it")
