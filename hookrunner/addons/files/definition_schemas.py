"""What the definitions of all addons' kinds have in common, as OpenAPI: the common fields of `spec`, the status, and
what `kubectl get` shows.

The fields have no defaults here: those of `addon.yaml` would otherwise be written into every object and outlive a
change of the file. Bounds on lists keep the cost of rules within what the API server allows.

Sources: https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/
"""

from typing import get_args

from hookrunner.addons.files.definition_parts import column, conditions_schema
from hookrunner.addons.instance_fields import ACCOUNT, MOST_PATCHES, TIMEOUT
from hookrunner.model.addons import Addon, CommonFields, DeletionPolicy, UpdatePolicy
from hookrunner.packages.names import CHANNEL_PATTERN, LONGEST_NAME, VERSION_PATTERN
from kubetypes.json_values import JSON

_OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_TEXT: JSON = {"type": "string"}
_NUMBER: JSON = {"type": "integer", "format": "int64"}
_TIME: JSON = {"type": "string", "format": "date-time"}

_PATCH_RULES = [
    {
        "rule": "has(self.jsonPatch) || (has(self.apiVersion) && has(self.kind) && has(self.metadata)"
        " && has(self.metadata.name))",
        "message": "a patch names its object: write apiVersion, kind and metadata.name, or target and jsonPatch",
    },
    {
        "rule": "!has(self.jsonPatch) || (has(self.target) && has(self.target.apiVersion) && has(self.target.kind)"
        " && has(self.target.name))",
        "message": "a jsonPatch names its object: write target with apiVersion, kind and name",
    },
]
_NO_TWO_POINTS = {"rule": "!self.contains('..')", "message": "a version has no two points in a row"}
_HOOK_REPORT = {"type": _TEXT, "hook": _TEXT, "healthy": {"type": "boolean"}}
"""Which hook has reported a condition: it stands until this one runs again."""
_NAMES = {"name": _TEXT, "namespace": _TEXT}
_PATCH = _OPEN | {
    "properties": {
        "apiVersion": _TEXT,
        "kind": _TEXT,
        "metadata": _OPEN | {"properties": _NAMES},
        "target": _OPEN | {"properties": {"apiVersion": _TEXT, "kind": _TEXT, **_NAMES}},
        "jsonPatch": {"type": "array", "items": _OPEN, "minItems": 1, "maxItems": 1000},
    },
    "x-kubernetes-validations": _PATCH_RULES,
}


def spec_properties(addon: Addon) -> dict[str, JSON]:
    """The common fields, described with an addon's defaults."""
    return _version_fields(addon.defaults) | _lifecycle_fields(addon) | _account_field(addon) | {"patches": _patches()}


def _version_fields(defaults: CommonFields) -> dict[str, JSON]:
    return {
        "version": _pattern(VERSION_PATTERN, "Exact version of the package. It takes precedence over the channel.")
        | {"x-kubernetes-validations": [_NO_TWO_POINTS]},
        "channel": _pattern(
            CHANNEL_PATTERN, f"List of versions to follow while version is empty. Default: {defaults.channel}."
        ),
        "updatePolicy": _choice(
            get_args(UpdatePolicy),
            "automatic: follow the channel. notify: keep the version and report a newer one. manual: keep it. "
            f"Default: {defaults.update_policy}.",
        ),
        "rollbackOnFailure": _flag(
            "Go back to the last healthy version if an upgrade fails or takes longer than timeout.",
            defaults.rollback_on_failure,
        ),
        "timeout": _pattern(
            TIMEOUT,
            f"How long the objects may take to become ready, such as 90s or 10m. Default: {defaults.timeout:g}s.",
        ),
    }


def _lifecycle_fields(addon: Addon) -> dict[str, JSON]:
    """The schema allows `adopt: true` in each case. A stricter one would make objects invalid that exist already, and
    older API servers would then refuse to change their finalizers."""
    adoption = "Take over existing objects that belong to no release."
    return {
        "adopt": _flag(f"{adoption} It cannot be true here." if addon.never_adopts else adoption, addon.defaults.adopt),
        "suspend": _flag("Write nothing and repair nothing; the status is still updated.", False),
        "deletionPolicy": _choice(
            get_args(DeletionPolicy),
            "What happens to the objects when this one is deleted: they are deleted, or stay and belong to no one. "
            "Without it those that were taken over stay, and the others are deleted.",
        ),
        "protect": _flag("Keep users from changing or deleting the objects, by an admission policy.", False),
    }


def _account_field(addon: Addon) -> dict[str, JSON]:
    """Also where it cannot be set: a field that the schema does not have would be dropped without a word, and the
    objects written with the rights of hookrunner."""
    text = "ServiceAccount of this namespace as which all objects are read, written and deleted, instead of hookrunner."
    description = text if addon.object.namespaced else "It cannot be set here: objects of this kind have no namespace."
    return {"serviceAccountName": _pattern(ACCOUNT, description)}


def _patches() -> JSON:
    return {
        "type": "array",
        "maxItems": MOST_PATCHES,
        "items": _PATCH,
        "description": "Changes of the package's objects: partial objects with apiVersion, kind and metadata.name, "
        "or target and jsonPatch (RFC 6902). A patch that fits no object refuses the whole change.",
    }


def status_schema() -> JSON:
    """The status. `healthy`, `errors`, `phase` and `observedGeneration` are those of upstream's operators."""
    healthy = {"version": _TEXT, "revision": _NUMBER, "time": _TIME}
    objects = {"total": _NUMBER, "current": _NUMBER, "ready": _TEXT}
    return {
        "type": "object",
        "properties": {
            "healthy": {"type": "boolean", "description": "Is the desired state reached and does it work?"},
            "errors": {"type": "array", "items": _TEXT, "description": "Every obstacle, the most serious first."},
            "phase": _TEXT,
            "observedGeneration": _NUMBER,
            "version": {"type": "string", "description": "The version that is applied."},
            "channel": _TEXT,
            "serial": {"type": "integer", "format": "int64", "description": "The channel's, which never decreases."},
            "availableVersion": {"type": "string", "description": "A version that updatePolicy does not install."},
            "digest": {"type": "string", "description": "SHA-256 of the package that is applied."},
            "commit": {"type": "string", "description": "The git commit that the package is from."},
            "release": {"type": "string", "description": "The Helm release, in hookrunner's namespace."},
            "revision": _NUMBER,
            "lastHealthy": {"type": "object", "properties": healthy},
            "objects": {"type": "object", "properties": objects},
            "startedAt": _TIME,
            "conditions": conditions_schema(),
            "hookReports": {"type": "array", "items": {"type": "object", "properties": _HOOK_REPORT}},
        },
    }


def columns() -> list[JSON]:
    """What `kubectl get` shows; the last two only with `-o wide`. An instance that nothing reconciles keeps its last
    status, so that its annotation has a column."""
    message = ".status.conditions[?(@.type=='Ready')].message"
    return [
        column("Version", "string", ".status.version"),
        column("Phase", "string", ".status.phase"),
        column("Healthy", "boolean", ".status.healthy"),
        column("Objects", "string", ".status.objects.ready"),
        column("Update", "string", ".status.availableVersion"),
        column("Unmanaged", "string", r".metadata.annotations.hookrunner\.io/unmanaged"),
        column("Age", "date", ".metadata.creationTimestamp"),
        column("Channel", "string", ".status.channel") | {"priority": 1},
        column("Message", "string", message) | {"priority": 1},
    ]


SELECTABLE_FIELDS = ({"jsonPath": ".status.phase"}, {"jsonPath": ".status.version"})
"""For `kubectl get --field-selector status.phase=Failed`."""


def _pattern(pattern: str, description: str) -> JSON:
    """A text that may be empty, which means not set."""
    bounds = {"maxLength": LONGEST_NAME, "pattern": f"^({pattern})?$"}
    return _TEXT | bounds | {"description": description}


def _choice(words: tuple[str, ...], description: str) -> JSON:
    return _TEXT | {"enum": list(words), "description": description}


def _flag(description: str, default: bool) -> JSON:
    return {"type": "boolean", "description": f"{description} Default: {str(default).lower()}."}
