"""What a hook declares: its bindings with every default filled in and every selector in the API server's form.

`hooks/config` is the only maker of these; all others read them. Field meanings: docs/hooks.md.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace
from enum import StrEnum
from pathlib import Path
from typing import Literal, TypeAlias

from hookrunner.model.modules import GLOBAL
from hookrunner.model.rights import Right
from hookrunner.model.units import unit_fields
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

MAIN = "main"
"""The queue of everything that names no other."""

ReviewKind: TypeAlias = Literal["admission", "conversion"]
"""What the API server asks of a hook: to admit a request, or to convert objects to another version."""


class Change(StrEnum):
    """What happened to an object, in the words of a binding context."""

    ADDED = "Added"
    MODIFIED = "Modified"
    DELETED = "Deleted"


class BindingType(StrEnum):
    """The kinds of binding, as logs and queue dumps spell them."""

    ON_STARTUP = "onStartup"
    BEFORE_ALL = "beforeAll"
    AFTER_ALL = "afterAll"
    BEFORE_HELM = "beforeHelm"
    AFTER_HELM = "afterHelm"
    BEFORE_DELETE_HELM = "beforeDeleteHelm"
    AFTER_DELETE_HELM = "afterDeleteHelm"
    SCHEDULE = "schedule"
    KUBERNETES = "kubernetes"
    VALIDATING = "kubernetesValidating"
    MUTATING = "kubernetesMutating"
    CONVERSION = "kubernetesCustomResourceConversion"


LIFECYCLE = frozenset(
    {
        BindingType.ON_STARTUP,
        BindingType.BEFORE_ALL,
        BindingType.AFTER_ALL,
        BindingType.BEFORE_HELM,
        BindingType.AFTER_HELM,
        BindingType.BEFORE_DELETE_HELM,
        BindingType.AFTER_DELETE_HELM,
    }
)
"""Bindings to phases of the program itself."""


OnFailure = Literal["retry", "park"]


LONGEST_LINE = 64 << 20
"""Bytes, the most of `Resident.max_line`: larger documents are read by nothing."""


@dataclass(frozen=True, slots=True)
class Resident:
    """How the processes of a resident hook are kept: at most `workers`, each until it was `idle` for so many seconds
    (0: it stays), has had `max_runs` runs, or holds `max_memory` bytes (0: no limit). `fallback`: a run gets a process
    of its own if none can be started that stays. `max_line`: bytes of one run or answer."""

    workers: int = 1
    idle: float = 300.0
    max_runs: int = 10_000
    max_memory: int = 0
    fallback: bool = False
    max_line: int = LONGEST_LINE


@dataclass(frozen=True, slots=True)
class QueueRules:
    """How many runs of a queue may be under way at once, and which of them keep their order: those of one binding, of
    one object or of one namespace."""

    concurrency: int = 1
    order_by: Literal["binding", "object", "namespace"] = "binding"

    def __str__(self) -> str:
        return f"{{concurrency: {self.concurrency}, orderBy: {self.order_by}}}"


ONE_BY_ONE = QueueRules()
"""The rules of a queue for which no hook states any."""


@dataclass(frozen=True, slots=True)
class HookSettings:
    """Rate limit, timeout and failure handling of a hook's runs. Durations are seconds.

    `min_interval` 0 means no rate limit. `timeout` None means no limit. `max_attempts` 0 means no limit. `permissions`
    are the rights that the hook states; None if it states nothing, which differs from a hook that needs none. `queues`
    are the rules that it states for queues, by their names.
    """

    min_interval: float = 0.0
    burst: int = 1
    timeout: float | None = None
    combine: bool = True
    on_failure: OnFailure = "retry"
    max_attempts: int = 0
    on_dry_run: Literal["run", "skip"] = "run"
    on_review_patches: Literal["apply", "refuse"] = "apply"
    fork: bool = True
    permissions: tuple[Right, ...] | None = None
    resident: Resident | None = None
    queues: Mapping[str, QueueRules] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Schedule:
    """One `schedule` binding. `timezone` is an IANA name or empty; `snapshots` the effective includes."""

    name: str
    crontab: str
    timezone: str = ""
    queue: str = MAIN
    group: str = ""
    allow_failure: bool = False
    snapshots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Kubernetes:
    """One `kubernetes` binding (v1) or `onKubernetesEvent` (v0).

    `names` and `namespaces` are exact names, empty for any; `namespace_labels` is a selector string for dynamic
    namespaces and None without; `labels` and `fields` are selector strings, empty for none. Without its kind in the
    cluster an `optional` binding has no objects, and any other is waited for.
    """

    name: str
    kind: str
    api_version: str = ""
    changes: frozenset[Change] = frozenset(Change)
    run_on_synchronization: bool = True
    wait_for_synchronization: bool = True
    synchronize_each_object: bool = False
    optional: bool = False
    keep_full_objects: bool = True
    jq_filter: str = ""
    names: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    namespace_labels: str | None = None
    labels: str = ""
    fields: str = ""
    queue: str = MAIN
    group: str = ""
    allow_failure: bool = False
    snapshots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Admission:
    """One `kubernetesValidating` or `kubernetesMutating` binding, in the API's own JSON for the registration."""

    name: str
    rules: tuple[JSON, ...] = ()
    failure_policy: Literal["Ignore", "Fail"] = "Fail"
    side_effects: Literal["None", "NoneOnDryRun"] = "None"
    timeout_seconds: int = 10
    reinvocation_policy: str = ""
    match_conditions: tuple[JSON, ...] = ()
    object_selector: JSON = None
    namespace_selector: JSON = None
    group: str = ""
    snapshots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversionBinding:
    """One `kubernetesCustomResourceConversion` binding; `rules` are (from, to) pairs as written."""

    name: str
    crd: str
    rules: tuple[tuple[str, str], ...]
    group: str = ""
    snapshots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HookConfig:
    """Everything that one `--config` answer says. `on_startup` is the order, None without; `lifecycle` the orders of
    `beforeAll` … `afterDeleteHelm` bindings."""

    version: Literal["v0", "v1"]
    on_startup: float | None = None
    lifecycle: Mapping[BindingType, int] = field(default_factory=dict)
    settings: HookSettings = HookSettings()
    schedules: tuple[Schedule, ...] = ()
    kubernetes: tuple[Kubernetes, ...] = ()
    validating: tuple[Admission, ...] = ()
    mutating: tuple[Admission, ...] = ()
    conversions: tuple[ConversionBinding, ...] = ()

    @property
    def count(self) -> int:
        """How many bindings it declares."""
        lists = (self.lifecycle, self.schedules, self.kubernetes, self.validating, self.mutating, self.conversions)
        return sum(map(len, lists)) + (self.on_startup is not None)

    @property
    def reviews(self) -> frozenset[ReviewKind]:
        """The kinds of reviews that this hook answers."""
        declared: dict[ReviewKind, bool] = {
            "admission": bool(self.validating or self.mutating),
            "conversion": bool(self.conversions),
        }
        return frozenset(kind for kind, there in declared.items() if there)

    @property
    def runs_unasked(self) -> bool:
        """Does anything but a review run the hook? A kubernetes binding may be there for snapshots alone."""
        return bool(
            self.on_startup is not None
            or self.lifecycle
            or self.schedules
            or any(binding.changes or binding.run_on_synchronization for binding in self.kubernetes)
        )

    def asked_only(self, kinds: Collection[ReviewKind]) -> "HookConfig":
        """The same, for reviews of these kinds only."""
        kept = self if "admission" in kinds else replace(self, validating=(), mutating=())
        return kept if "conversion" in kinds else replace(kept, conversions=())


QueuedBinding: TypeAlias = Schedule | Kubernetes


@dataclass(frozen=True, slots=True)
class Hook:
    """An executable file and what it declared. `name` is its path relative to the hooks directory.

    `module` is empty for a hook without values, `global` for a global hook, else a module's name; then `name` begins
    with it and a slash, since files of two modules may have one name. `label` is the name without that: metrics, log
    records and queue dumps show it beside the module's. `prefix` comes before the file in the command: an
    interpreter. `is_python`: a Python runs it, by its first line or the prefix. `of_addon`: `module` is an addon or an
    instance of one."""

    name: str
    path: Path
    config: HookConfig = field(compare=False)
    module: str = ""
    prefix: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict, compare=False)
    is_python: bool = field(default=False, compare=False)
    of_addon: bool = field(default=False, compare=False)

    @property
    def label(self) -> str:
        """What it is called where its module is known."""
        return label_of(self.name, self.module)

    @property
    def unit(self) -> str:
        """The unit that it comes and goes with; empty for a plain or a global hook."""
        return "" if self.module == GLOBAL else self.module

    @property
    def directory(self) -> Path:
        """Where it runs: its own directory; for a global hook and one of a module, where the program runs."""
        return Path() if self.module else self.path.parent

    def asked_only(self, kinds: Collection[ReviewKind]) -> "Hook":
        """The same hook, for reviews of these kinds only."""
        return replace(self, config=self.config.asked_only(kinds))

    @property
    def owner(self) -> tuple[str, ...]:
        """The value of the label `module` in metrics."""
        return owner_of(self.module)

    @property
    def fields(self) -> dict[str, str]:
        """The hook in a log record."""
        return fields_of(self.label, self.module)


def by_lifecycle(hooks: Iterable[Hook], type: BindingType) -> list[Hook]:
    """The hooks that have such a binding, by its number, then by name."""
    return sorted((h for h in hooks if type in h.config.lifecycle), key=lambda h: (h.config.lifecycle[type], h.name))


def label_of(name: str, module: str) -> str:
    """The name of a hook where its module is known."""
    return name.removeprefix(f"{module}/") if module else name


def owner_of(module: str) -> tuple[str, ...]:
    """The value of the label `module`, which not every series has: empty for a global hook, as in addon-operator;
    no value at all for a plain hook."""
    return ("" if module == GLOBAL else module,) if module else ()


def fields_of(label: str, module: str) -> dict[str, str]:
    """The fields by which log records name a hook: `hook` is the label `hook` of its metrics; its unit, which a plain
    hook does not have, tells hooks of one name apart. Global hooks have the module `global`, which is no unit."""
    if module in ("", GLOBAL):
        return {"hook": label, **({"module": module} if module else {})}
    return {"hook": label, **unit_fields(module)}
