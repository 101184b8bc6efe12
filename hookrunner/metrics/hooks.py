"""What hooks export through their metrics file, shown at `/metrics/hooks` (docs/hooks.md).

A series belongs to one group or to none; without a group it lives until a restart or until its hook says `expire`.
Each batch that names a group replaces that group's series; groups are shared by all hooks. An operation that cannot
be shown beside what is there already (another type, a series of another group, a name that stands for something
else) is refused and named, the others of its batch are applied: a scrape never breaks.

How much hooks may export is bounded, so that a slip (a label with a value of its own for each object and moment) costs
neither the memory of the program nor that of Prometheus. What exceeds a bound is refused and reported; existing series
stay.

Not here: reading the file (`hooks/metric_operations.py`), and what a refusal means for the run (the engine says).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Literal, TypeAlias

from hookrunner.metrics import exposition
from hookrunner.metrics.series import Buckets, Distribution
from hookrunner.model.modules import GLOBAL
from hookrunner.model.operations import MetricAction, MetricOperation
from kubetypes.light_dataclasses import dataclass

_Kind: TypeAlias = Literal["counter", "gauge", "histogram"]
_Key: TypeAlias = tuple[tuple[str, str], ...]
"""Labels of a series, sorted, without empty ones: to Prometheus an empty label is no label."""
_Hook: TypeAlias = tuple[str, str]
"""Name and module."""
_Owner: TypeAlias = tuple[str, str]
"""(group, ""), or ("", hook) for the ungrouped series of a hook."""

_KINDS: dict[MetricAction, _Kind] = {
    MetricAction.ADD: "counter",
    MetricAction.SET: "gauge",
    MetricAction.OBSERVE: "histogram",
}


_STEP = 2000
"""Operations that take 20 to 60 ms."""
_REPORTED = 20
"""Refusals of one run that are reported one by one."""
_OURS = "hookrunner itself"

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_:]|^[0-9]")
_NOT_IN_LABELS = re.compile(r"[^a-zA-Z0-9_]|^[0-9]")


_NAME_LENGTH, _VALUE_LENGTH = 200, 2000
"""Characters of a metric's or label's name, and of a label's value."""
_LABELS = 64
"""Label names of one metric, over all its series: each series shows them all."""
_ORDINARY = 512
"""A sample counts once more for each of this many characters in its labels."""


class OutOfBounds(Exception):
    """A bound is exceeded; the message says which, and what to do."""


@dataclass(frozen=True, slots=True)
class SampleBounds:
    """Samples, the lines of the exposition, that one metric may have, and all together; a name that no series has any
    more counts for one."""

    metric: int = 10_000
    all: int = 100_000

    def check(self, name: str, samples: int, everything: int) -> None:
        """Raise OutOfBounds if `samples` are too many for one metric, or `everything` for all together."""
        mend = "drop labels whose values are many, or put the metrics into a group, which each run replaces"
        if samples > self.metric:
            raise OutOfBounds(f"{name} has the most samples that --hook-metric-samples allows ({self.metric}); {mend}")
        if everything > self.all:
            most = f"the most samples that --hook-metrics-samples allows ({self.all})"
            raise OutOfBounds(f"metrics of hooks have {most}; {mend}")


class _Refused(Exception):
    """Travels from a check to `apply` and no further."""


@dataclass(slots=True)
class _Series:
    owner: _Owner
    module: str
    weight: int
    value: float = 0.0
    spread: Distribution | None = None


@dataclass(slots=True)
class _Family:
    """`labels` are all label names ever seen; a series without one of them shows it as empty. `samples` is what its
    series count for."""

    name: str
    kind: _Kind
    buckets: Buckets
    labels: set[str] = field(default_factory=set)
    series: dict[_Key, _Series] = field(default_factory=dict)
    samples: int = 0

    @property
    def claims(self) -> set[str]:
        """Names of all its samples."""
        return exposition.sample_names(self.name, self.kind)

    def lines(self) -> Iterator[str]:
        """All series; the help of a hook's metric is its name."""
        return exposition.family(self.name, self.name, self.kind, self._lines())

    def _lines(self) -> Iterator[str]:
        names = sorted(self.labels)
        for key, series in sorted(self.series.items(), key=lambda item: item[0]):
            values = dict(key)
            labels = exposition.label_text((name, values.get(name, "")) for name in names)
            if series.spread is not None:
                yield from series.spread.lines(self.name, labels)
            else:
                yield exposition.line(self.name, labels, series.value)


class HookMetrics:
    """The metrics of all hooks. `samples` is for how many they count, `refused` how many operations of each hook and
    module were refused. `ours` are names that none of them may have: Prometheus does not see from which page a sample
    comes."""

    def __init__(self, most: SampleBounds | None = None, ours: Iterable[str] = ()) -> None:
        self.refused = Counter[_Hook]()
        self._most = most or SampleBounds()
        self._series_samples = 0
        self._families: dict[str, _Family] = {}
        self._claims = dict.fromkeys(ours, _OURS)
        self._owned: dict[_Owner, set[tuple[str, _Key]]] = {}

    def apply(self, hook: str, operations: Sequence[MetricOperation], module: str = "") -> tuple[str, ...]:
        """Apply what one run of `hook` wrote; that of a module's hook is shown with its
        module, and hooks of one name in two modules have nothing to do with each other. Returns why operations were
        refused, each reason once."""
        *_, refusals = self.apply_in_steps(hook, operations, module)
        return refusals

    def apply_in_steps(
        self, hook: str, operations: Sequence[MetricOperation], module: str = ""
    ) -> Iterator[tuple[str, ...]]:
        """The same with a pause after every few thousand operations, for other work in the event loop; the last result
        has the reasons. A scrape meanwhile finds a part of them."""
        for group in {operation.group for operation in operations if operation.group}:
            self._expire((group, ""))
        reasons = Counter[str]()
        for start in range(0, len(operations), _STEP):
            reasons.update(self._refusals((hook, module), operations[start : start + _STEP]))
            yield ()
        if reasons:
            self.refused[hook, module] += reasons.total()
        refusals = [f"{reason} ({times} times)" if times > 1 else reason for reason, times in reasons.items()]
        if len(refusals) > _REPORTED:
            refusals[_REPORTED:] = [f"{len(refusals) - _REPORTED} more refusals, of other metrics or for other reasons"]
        yield tuple(refusals)

    def forget_module(self, module: str) -> None:
        """Drop all series that its hooks made, in groups too, and how much of these hooks was refused: the module will
        not come back. Other hooks may have a label `module` of this value; theirs stay."""
        for owner, series in tuple(self._owned.items()):
            for name, key in [of for of in series if self._families[of[0]].series[of[1]].module == module]:
                self._remove(owner, name, key)
        for hook in [hook for hook in self.refused if hook[1] == module]:
            del self.refused[hook]

    @property
    def samples(self) -> int:
        return self._series_samples + len(self._families)

    def exposition(self) -> bytes:
        """The text of `/metrics/hooks`."""
        return b"".join(self.pieces())

    def pieces(self) -> Iterator[bytes]:
        """The same in pieces; what changes in between may be in a later one."""
        families = sorted(self._families.items())
        return exposition.pieces(line for _, family in families for line in family.lines())

    def _refusals(self, hook: _Hook, operations: Iterable[MetricOperation]) -> Iterator[str]:
        for operation in operations:
            owner = (operation.group, "" if operation.group else "/".join(reversed(hook)))
            if operation.action is MetricAction.EXPIRE:
                self._expire(owner)
                continue
            try:
                self._record(owner, hook, operation)
            except (_Refused, OutOfBounds) as refused:
                yield f"metric '{operation.name[:_NAME_LENGTH]}' ({operation.action}) refused: {refused}"

    def _record(self, owner: _Owner, hook: _Hook, operation: MetricOperation) -> None:
        _check_length("a name", operation.name, _NAME_LENGTH)
        _check_count(operation.name, len(operation.labels))  # all that follows takes the more time the more there are
        for label, value in operation.labels:
            _check_length("a name", label, _NAME_LENGTH)
            _check_length("a label's value", value, _VALUE_LENGTH, f"that of '{label}'", "shorten it")
        _check_length("a group's name", operation.group, _VALUE_LENGTH)
        key = _key(hook, operation)
        series = self._series(self._family(operation), key, owner, hook[1])
        if operation.action is MetricAction.SET:
            series.value = operation.value
        elif series.spread is not None:
            series.spread.observe(operation.value)
        else:
            series.value += operation.value

    def _family(self, operation: MetricOperation) -> _Family:
        """The family of that name. A new one counts as soon as it has a series."""
        name, kind = sanitized(operation.name), _KINDS[operation.action]
        if kind == "counter" and operation.value < 0:
            raise _Refused("a counter only grows; use 'set' for a number that falls")
        family = self._families.get(name)
        if family is None:  # thousands of buckets cost time before they are refused
            self._most.check(name, len(operation.buckets), 0)
            family = _Family(name, kind, Buckets(operation.buckets))
        if family.kind != kind:
            raise _Refused(f"{name} is a {family.kind} until a restart; use another name")
        for claim in family.claims:
            if self._claims.get(claim, name) != name or self._claims.get(claim) == _OURS:
                raise _Refused(f"{claim} already belongs to {self._claims[claim]}; use another name")
        return family

    def _series(self, family: _Family, key: _Key, owner: _Owner, module: str) -> _Series:
        """The series of that key, made if it is new."""
        series = family.series.get(key)
        if series is None:
            series = self._new_series(family, key, owner, module)
        elif series.owner != owner:
            of = f"group '{series.owner[0]}'" if series.owner[0] else "no group"
            names = ", ".join(name for name, _ in key)
            raise _Refused(f"{family.name} with these values of the labels {names} already belongs to {of}; use others")
        return series

    def _new_series(self, family: _Family, key: _Key, owner: _Owner, module: str) -> _Series:
        """Raises OutOfBounds; then nothing has changed."""
        spread = Distribution(family.buckets) if family.kind == "histogram" else None
        weight = _weight((*key, owner), len(family.buckets.labels) + 2 if spread else 1)
        labels = family.labels | {label for label, _ in key}
        self._most.check(family.name, family.samples + weight, self.samples + weight)
        _check_count(family.name, len(labels))
        self._families[family.name] = family
        self._claims |= dict.fromkeys(family.claims, family.name)
        series = family.series[key] = _Series(owner, module, weight, spread=spread)
        family.labels = labels
        family.samples += weight
        self._series_samples += weight
        self._owned.setdefault(owner, set()).add((family.name, key))
        return series

    def _expire(self, owner: _Owner) -> None:
        for name, key in tuple(self._owned.get(owner, ())):
            self._remove(owner, name, key)

    def _remove(self, owner: _Owner, name: str, key: _Key) -> None:
        owned, family = self._owned[owner], self._families[name]
        owned.discard((name, key))
        if not owned:
            del self._owned[owner]
        weight = family.series.pop(key).weight
        family.samples -= weight
        self._series_samples -= weight


def sanitized(name: str) -> str:
    """A metric's name that Prometheus takes: each character that it does not becomes `_`."""
    return _NOT_IN_NAMES.sub("_", name) or "_"


def _key(hook: _Hook, operation: MetricOperation) -> _Key:
    """Labels as they identify a series. The hook's name wins over a label `hook` of its own, so does the module's."""
    labels = [(_NOT_IN_LABELS.sub("_", label) or "_", value) for label, value in operation.labels]
    names = [label for label, _ in labels]
    for label in names:
        if names.count(label) > 1:
            raise _Refused(f"two of its labels are called '{label}'")
        if label.startswith("__") or (label == "le" and operation.action is MetricAction.OBSERVE):
            raise _Refused(f"the label '{label}' is Prometheus's own; use another")
    name, module = hook
    own = {"hook": name} | ({"module": module} if module not in ("", GLOBAL) else {})
    shown = {label: exposition.showable(value) for label, value in {**dict(labels), **own}.items()}
    return tuple(sorted((label, value) for label, value in shown.items() if value))


def _check_length(
    what: str, text: str, longest: int, which: str = "this one", advice: str = "use a shorter one"
) -> None:
    """Raise OutOfBounds for a text that is too long. It is not cut: another one may begin alike."""
    if len(text) > longest:
        raise OutOfBounds(f"{what} may have {longest} characters, {which} has {len(text)}; {advice}")


def _check_count(name: str, labels: int) -> None:
    """Raise OutOfBounds for too many label names of one metric."""
    if labels > _LABELS:
        raise OutOfBounds(f"{name} would have more than {_LABELS} labels; use fewer")


def _weight(labels: Iterable[tuple[str, str]], lines: int) -> int:
    """The number of samples for which a series of `lines` lines counts."""
    return lines * (1 + sum(len(name) + len(value) for name, value in labels) // _ORDINARY)
