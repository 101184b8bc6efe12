"""By what an instance gets into each state: a change of its spec, or of the world around it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kubetypes.json_values import JSON
from tests.flows.addons.caused_addons import GROUP


@dataclass(frozen=True, slots=True)
class Cause:
    """An instance that is healthy with the spec `start` gets into this state by `change`. `words` stand in its first
    error; `events` are those that follow; `version` is installed then."""

    name: str
    phase: str
    reason: str
    words: str
    change: JSON
    events: tuple[str, ...]
    addon: str = "plain"
    start: Mapping[str, JSON] = field(default_factory=dict)
    version: str = "1.0.0"

    @property
    def path(self) -> str:
        """Of the instance's resource, behind the namespace."""
        return f"{_PLURALS.get(self.addon, f'{self.addon}s')}/{self.name}"

    @property
    def before(self) -> tuple[str, str, str]:
        """Its first phase and reason, and its first version."""
        return "Current", "Current", str(self.start.get("version", "1.0.0"))

    @property
    def after(self) -> tuple[str, str, str]:
        """Those to which its cause leads."""
        return self.phase, self.reason, self.version

    @property
    def mend(self) -> JSON:
        """The spec's change that takes the cause away."""
        return dict.fromkeys(self.change) | dict(self.start)


_PLURALS = {"needy": "needies"}


def _patch(name: str, **more: JSON) -> JSON:
    return [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} | more]


def _mismatch(name: str, reason: str, words: str, change: JSON, addon: str = "plain") -> Cause:
    return Cause(name, "VersionMismatch", reason, words, change, ("VersionMismatch",), addon)


def _package(name: str, reason: str, words: str, change: JSON, addon: str = "plain") -> Cause:
    return Cause(name, "PackageError", reason, words, change, ("PackageError",), addon)


def _render(name: str, reason: str, words: str, change: JSON, addon: str = "plain") -> Cause:
    return Cause(name, "RenderFailed", reason, words, change, ("RenderFailed",), addon)


def _spoilt(name: str, reason: str, words: str, change: JSON) -> Cause:
    return Cause(name, "PatchFailed", reason, words, change, ("PatchFailed",))


def _refused(name: str, words: str, change: JSON) -> Cause:
    return Cause(name, "Applying", "ApplyFailed", words, change, ("ApplyFailed",))


def _owned(name: str, words: str, change: JSON) -> Cause:
    return Cause(name, "Conflict", "Owned", words, change, ("Conflict",))


def _failed(name: str, reason: str, words: str, version: str, **more: JSON) -> Cause:
    return Cause(name, "Failed", reason, words, {"version": version} | more, ("Applied", "Failed"), version=version)


def _undone(name: str, words: str, version: str, **more: JSON) -> Cause:
    change = {"version": version, "rollbackOnFailure": True} | more
    return Cause(name, "RolledBack", "RolledBack", words, change, ("RolledBack",))


def _fine(name: str, change: JSON, event: str, **more: Any) -> Cause:
    return Cause(name, "Current", "Current", "", change, (event,), **more)


_MOVING = {"channel": "moving"}
CAUSES = (
    _mismatch("no-channel", "NoChannel", "channel 'absent'", {"channel": "absent"}),
    _mismatch("no-version", "NoVersion", "no version of thing for Kubernetes", {"channel": "none"}),
    _mismatch("cluster", "Kubernetes", "needs Kubernetes >=99", {"version": "newer-cluster"}),
    _mismatch("operator", "Operator", "needs hookrunner >=99", {"version": "newer-hookrunner"}),
    _mismatch("annotated", "Operator", "needs hookrunner 99.0.0 or newer", {"version": "annotated"}),
    _mismatch("far", "UpgradePath", "replaces versions >=5 only, 1.0.0 is installed", {"version": "far"}),
    _mismatch("back", "DowngradeRefused", "is older than 1.0.0", {"version": "0.9.0"}, "onward"),
    _package("unreachable", "Unreachable", "503", {"channel": "down"}, "remote"),
    _package("missing", "NotFound", "9.9.9", {"version": "9.9.9"}),
    _package("malformed", "Malformed", "package.yaml: kubernetes", {"version": "malformed"}),
    _package("odd-channel", "Malformed", "channel 'odd'", {"channel": "odd"}),
    _package("large", "TooLarge", "5 MiB", {"version": "large"}),
    _package("mismatch", "DigestMismatch", "not sha256:0000", {"channel": "pinned"}),
    _package("changed", "DigestChanged", "hookrunner.io/accept-digest", {"text": "new"}, "remote"),
    _package("unlisted", "Unverified", "no SHA256SUMS", {"version": "unlisted"}, "remote"),
    _render("hook", "HookFailed", "no luck today", {"text": "fail"}, "hooked"),
    _render("unset", "RenderFailed", "{{ .Mode }}", {"version": "unset"}),
    _render("itself", "RenderFailed", "Plain", {"version": "itself"}),
    _render("spec", "SpecInvalid", "text", {"text": "x" * 21}),
    _spoilt("no-match", "NoMatch", "nothing-like-it", {"patches": _patch("nothing-like-it")}),
    _spoilt("ambiguous", "Ambiguous", "kube-system", {"version": "twice", "patches": _patch("twin")}),
    _spoilt(
        "merge",
        "MergeFailed",
        "/data/none",
        {
            "patches": [
                {
                    "target": {"apiVersion": "v1", "kind": "ConfigMap", "name": "of-merge"},
                    "jsonPatch": [{"op": "remove", "path": "/data/none"}],
                }
            ]
        },
    ),
    _spoilt(
        "not-allowed",
        "NotAllowed",
        "does not list metadata.labels.mine",
        {"patches": _patch("of-not-allowed", metadata={"name": "of-not-allowed", "labels": {"mine": "yes"}})},
    ),
    _spoilt("invalid", "SchemaInvalid", "no key", {"patches": _patch("of-invalid", data={"no key": "a"})}),
    _spoilt("wrong-type", "SchemaInvalid", "of-wrong-type", {"patches": _patch("of-wrong-type", data={"text": 3})}),
    _refused("refused", "no key", {"version": "refused"}),
    _refused("unknown", "Unknown", {"version": "unknown"}),
    _owned("of-module", "alpha", {"version": "taken", "text": "module", "adopt": True}),
    _owned("of-helm", "other", {"version": "taken", "text": "helm", "adopt": True}),
    _refused("of-owner", "owner", {"version": "taken", "text": "owner", "adopt": True}),
    _owned("of-users", "adopt", {"version": "taken", "text": "user"}),
    _failed("stuck", "ObjectsFailed", "Deployment", "stuck"),
    _failed("job", "ObjectsFailed", "Job", "job"),
    _failed("late", "TimedOut", "after 1 s: Deployment", "late", timeout="1s"),
    _undone("undone-refused", "no key", "refused"),
    _undone("undone-job", "Job", "job"),
    _undone("undone-late", "after 1 s: Deployment", "late", timeout="1s"),
    Cause("slow", "InProgress", "ObjectsNotReady", "Deployment", {"version": "late"}, ("Applied",), version="late"),
    Cause(
        "report", "InProgress", "HookReport", "Troubled: there is trouble", {"text": "report"}, ("Applied",), "hooked"
    ),
    Cause("hang", "Applying", "Applying", "its run has not ended yet", {"text": "wait"}, (), "hooked"),
    Cause("suspended", "Suspended", "Suspended", "spec.suspend", {"suspend": True}, ()),
    _fine("followed", {"text": "new"}, "Applied", start=_MOVING, version="2.0.0"),
    _fine("notified", {"text": "new"}, "UpdateAvailable", start=_MOVING | {"updatePolicy": "notify"}),
    _fine("manual", {"text": "new"}, "Applied", start=_MOVING | {"updatePolicy": "manual"}),
    _fine("vanished", {"text": "new"}, "Applied", start={"channel": "vanishing"}),
    _fine("adopted", {"version": "taken", "text": "adopted", "adopt": True}, "Adopted", version="taken"),
    _fine("untested", {"version": "untested"}, "Applied", version="untested"),
    _fine("lenient", {"patches": _patch("nothing-like-it")}, "PatchFailed", addon="lenient"),
    _fine("held", {"version": "held"}, "Applied", version="held"),
    _fine("kept", {"version": "kept"}, "Applied", version="kept"),
    Cause(
        "changed-by-hand",
        "InProgress",
        "ObjectsNotReady",
        "Deployment",
        {},
        ("Drifted", "Unhealthy"),
        "lax",
        start={"version": "deployed"},
        version="deployed",
    ),
)
"""Those that are healthy before."""

LATECOMERS = (
    Cause("needy", "Pending", "Waiting", "waiting for Kubernetes >=99", {}, ("Waiting",), "needy", version=""),
    Cause("second", "Conflict", "Duplicate", "there is only one Single", {}, ("Conflict",), "single", version=""),
    Cause("rival", "Conflict", "Exclusive", "only one 'side' can be installed", {}, ("Conflict",), "rival", version=""),
)
"""Those that never get anything installed. They are created last, since the older ones have priority."""

FIRST = Cause("first", "Current", "Current", "", {}, ("Repaired",), "single")
ELSEWHERE = Cause("elsewhere", "Conflict", "Namespace", "--addon-namespaces", {}, ("Conflict",), version="")
"""In a namespace that is not allowed."""


def body_of(cause: Cause) -> JSON:
    """The object with which it begins."""
    kind = {"apiVersion": f"{GROUP}/v1alpha1", "kind": cause.addon.capitalize()}
    return kind | {"metadata": {"name": cause.name}, "spec": dict(cause.start)}
