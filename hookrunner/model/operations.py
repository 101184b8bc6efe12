"""What a hook answers: operations on objects, on metrics and on values, already validated.

`hooks/` is the only maker of these: `patches.py`, `metric_operations.py` and `verdicts.py` of the operations,
`file_carrier.py` of the answer. `kube/objects.py`, `metrics/hooks.py` and `values/` carry them out.
"""

from dataclasses import field
from enum import StrEnum
from typing import Literal, TypeAlias

from hookrunner.model.addon_status import HookCondition
from hookrunner.model.reviews import Converted, Verdict
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass


class Verb(StrEnum):
    """The `operation` key of an object operation. `Apply` (server-side apply) is ours."""

    CREATE = "Create"
    CREATE_OR_UPDATE = "CreateOrUpdate"
    CREATE_IF_NOT_EXISTS = "CreateIfNotExists"
    APPLY = "Apply"
    DELETE = "Delete"
    DELETE_IN_BACKGROUND = "DeleteInBackground"
    DELETE_NON_CASCADING = "DeleteNonCascading"
    JQ_PATCH = "JQPatch"
    MERGE_PATCH = "MergePatch"
    JSON_PATCH = "JSONPatch"


@dataclass(frozen=True, slots=True)
class ObjectOperation:
    """One document of the patch file.

    `body` is the whole object of Create* and Apply, the patch of MergePatch (an object) and JSONPatch (an array), None
    otherwise; `jq_filter` the program of JQPatch. An empty `api_version` means the preferred version of the kind;
    `subresource` has no leading slash. `uid` and `version` (a resourceVersion) of Delete… say which object is meant;
    empty: any of this name.
    """

    verb: Verb
    kind: str
    name: str
    api_version: str = ""
    namespace: str = ""
    subresource: str = ""
    body: JSON = field(default=None, hash=False)
    jq_filter: str = ""
    uid: str = ""
    version: str = ""
    ignore_missing: bool = False
    ignore_hook_error: bool = False

    @property
    def target(self) -> tuple[str, str, str]:
        """The object that it is about, as the hook calls it."""
        return (self.kind.lower(), self.namespace, self.name)

    @property
    def survives_failure(self) -> bool:
        """Is it carried out even if the hook failed?"""
        return self.ignore_hook_error and self.subresource == "status"

    def __str__(self) -> str:
        """`Create object v1/ConfigMap/default/name`; every patch is called `Filter`."""
        word = {"C": "Create", "D": "Delete", "A": "Apply"}.get(self.verb[0], "Filter")
        return f"{word} object {self.api_version}/{self.kind}/{self.namespace}/{self.name}"


PreviousAttempt: TypeAlias = list[tuple[ObjectOperation, bool]]
"""The operations of one attempt of a task, and whether each was carried out."""


class MetricAction(StrEnum):
    """What to do with a metric."""

    ADD = "add"
    SET = "set"
    OBSERVE = "observe"
    EXPIRE = "expire"


@dataclass(frozen=True, slots=True)
class MetricOperation:
    """One document of the metrics file. An empty `group` means ungrouped; `value` and `buckets` fit the action."""

    action: MetricAction
    name: str = ""
    value: float = 0.0
    buckets: tuple[float, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    group: str = ""


@dataclass(frozen=True, slots=True)
class ValuesOperation:
    """One operation on values, already checked. `path` is a JSON pointer that begins with the section's key."""

    op: Literal["add", "remove", "test"]
    path: str
    value: JSON = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything that one successful run wrote: `admission` and `conversion` are the response files, None if empty.
    `config` and `values` are patches for the values store: kept in the ConfigMap, and in memory. `conditions`
    are those that a hook of an addon reports, none or some; None for other hooks. `again_after` are the seconds after
    which the hook asks to be run again, None if it does not."""

    objects: tuple[ObjectOperation, ...] = ()
    metrics: tuple[MetricOperation, ...] = ()
    admission: Verdict | None = None
    conversion: Converted | None = None
    config: tuple[ValuesOperation, ...] = ()
    values: tuple[ValuesOperation, ...] = ()
    conditions: tuple[HookCondition, ...] | None = None
    again_after: float | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What a run took: wall and CPU time in seconds, peak memory in bytes."""

    seconds: float
    user_seconds: float
    system_seconds: float
    max_rss_bytes: int
