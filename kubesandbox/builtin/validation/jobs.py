"""Jobs and CronJobs, https://kubernetes.io/docs/concepts/workloads/controllers/job/."""

import re
import zoneinfo
from collections.abc import Iterator
from functools import cache

from kubesandbox import names
from kubesandbox.builtin.validation.common import (
    UNCHANGEABLE,
    Causes,
    Object,
    label_selector,
    matches,
    named,
    not_negative,
    one_of,
    unchanged,
    usable,
)
from kubesandbox.builtin.validation.templates import pods
from kubesandbox.builtin.validation.workloads import MISMATCH
from kubesandbox.status import Cause, required, unsupported, wrong

NUMBERS = (
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
    "maxFailedIndexes",
)
FIXED = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
PLACING = ("nodeSelector", "affinity", "tolerations", "schedulingGates")
INDEXED_ONLY = ("backoffLimitPerIndex", "maxFailedIndexes")
BATCH = "batch.kubernetes.io/"
LONGEST_CRON_NAME = 52
ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
MOST_INDEXES = 100_000
MACROS = frozenset({"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"})
CRON_NAMES = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat"
CRON_VALUE = rf"(\d+|{CRON_NAMES})"
CRON_PART = re.compile(rf"(\*|\?|{CRON_VALUE}(-{CRON_VALUE})?)(/\d+)?", re.IGNORECASE | re.ASCII)
CRON_LIMITS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))


def job(obj: Object, old: Object | None) -> Causes:
    """A Job; most of it cannot change."""
    spec = obj.get("spec") or {}
    selector = spec.get("selector")
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    yield from _job_spec(spec, "spec")
    if selector is None:
        yield required("spec.selector")
    else:
        yield from label_selector(selector, "spec.selector")
    if not old and selector is not None and not spec.get("manualSelector"):
        expected = {f"{BATCH}controller-uid": obj["metadata"].get("uid", "")}
        if selector != {"matchLabels": expected}:
            yield wrong("spec.selector", selector, "`selector` not auto-generated")
    if selector is not None and not spec.get("manualSelector"):
        yield from _made_labels(obj["metadata"], labels)
    if selector is None or (usable(selector) and not matches(selector, labels)):
        yield wrong("spec.template.metadata.labels", labels or None, MISMATCH)
    if old:
        yield from _changed(spec, old["spec"], bool(old.get("status", {}).get("startTime")))


def _made_labels(meta: Object, labels: Object) -> Causes:
    """The labels by which a Job finds its Pods."""
    for key, value in (("controller-uid", meta.get("uid", "")), ("job-name", meta.get("name", ""))):
        for label in (key, BATCH + key):
            field, why = f"spec.template.metadata.labels[{label}]", f"must be '{value}'"
            if label not in labels:
                yield required(field, why)
            elif labels[label] != value:
                yield wrong(field, labels, why)


def _changed(spec: Object, known: Object, started: bool) -> Causes:
    if spec.get("completionMode") != "Indexed":
        yield from unchanged(spec, known, "spec", "completions")
    elif spec.get("completions") != known.get("completions") and spec.get("completions") != spec.get("parallelism"):
        why = "can only be modified in tandem with spec.parallelism"
        yield wrong("spec.completions", spec.get("completions"), why)
    yield from unchanged(spec, known, "spec", "selector")
    if known.get("suspend") and not started:
        if _placed_anywhere(spec) != _placed_anywhere(known):
            yield wrong("spec.template.spec", spec["template"].get("spec"), UNCHANGEABLE)
    elif spec.get("template") != known.get("template"):
        yield wrong("spec.template", spec.get("template"), UNCHANGEABLE)
    yield from unchanged(spec, known, "spec", *FIXED)


def _placed_anywhere(spec: Object) -> Object:
    """The template's spec without what may change while a Job is suspended: where its Pods run, what they get."""
    inner = (spec.get("template") or {}).get("spec") or {}
    rest = {key: value for key, value in inner.items() if key not in PLACING}
    for kind in ("containers", "initContainers"):
        if rest.get(kind):
            rest[kind] = [{**one, "resources": None} for one in rest[kind]]
    return rest


def _job_spec(spec: Object, path: str) -> Causes:
    yield from not_negative(spec, path, *NUMBERS)
    mode = spec.get("completionMode")
    yield from one_of(mode, f"{path}.completionMode", ("NonIndexed", "Indexed"), needed=False)
    if "maxFailedIndexes" in spec and "backoffLimitPerIndex" not in spec:
        yield required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified")
    if mode == "Indexed" and "completions" not in spec:
        yield required(f"{path}.completions", "when completion mode is Indexed")
    if mode == "Indexed":
        yield from _indexed(spec, path)
    if mode in (None, "NonIndexed"):
        for key in INDEXED_ONLY:
            if key in spec:
                yield wrong(f"{path}.{key}", spec[key], "requires indexed completion mode")
    for at, rule in enumerate((spec.get("podFailurePolicy") or {}).get("rules") or ()):
        yield from _failure_rule(rule, f"{path}.podFailurePolicy.rules[{at}]")
    replacing = ("Failed",) if "podFailurePolicy" in spec else ("Failed", "TerminatingOrFailed")
    yield from one_of(spec.get("podReplacementPolicy"), f"{path}.podReplacementPolicy", replacing, needed=False)
    if "successPolicy" in spec and mode != "Indexed":
        yield wrong(f"{path}.successPolicy", spec["successPolicy"], "requires indexed completion mode")
    yield from pods.template(spec.get("template"), f"{path}.template")
    yield from _restarts(spec, f"{path}.template.spec.restartPolicy")


def _indexed(spec: Object, path: str) -> Causes:
    if spec.get("parallelism", 0) > MOST_INDEXES:
        why = f"must be less than or equal to {MOST_INDEXES} when completion mode is Indexed"
        yield wrong(f"{path}.parallelism", spec["parallelism"], why)
    many = spec.get("completions", 0) > MOST_INDEXES
    if many and "backoffLimitPerIndex" in spec and "maxFailedIndexes" not in spec:
        yield required(f"{path}.maxFailedIndexes", f"must be specified when completions is above {MOST_INDEXES}")


def _failure_rule(rule: Object, path: str) -> Causes:
    if not rule.get("action"):
        yield required(f"{path}.action", 'valid values: ["Count" "FailIndex" "FailJob" "Ignore"]')
    elif rule["action"] not in ACTIONS:
        yield unsupported(f"{path}.action", rule["action"], ACTIONS)
    there = [key for key in ("onExitCodes", "onPodConditions") if rule.get(key)]
    if len(there) != 1:
        why = "specifying both OnExitCodes and OnPodConditions is not supported"
        missing = "specifying one of OnExitCodes and OnPodConditions is required"
        yield wrong(path, None, why if there else missing)
    for at, one in enumerate(rule.get("onPodConditions") or ()):
        yield from named(one.get("type", ""), f"{path}.onPodConditions[{at}].type", names.qualified)
    exits = rule.get("onExitCodes")
    if exits:
        if exits.get("operator") not in ("In", "NotIn"):
            yield unsupported(f"{path}.onExitCodes.operator", exits.get("operator", ""), ("In", "NotIn"))
        if not exits.get("values"):
            yield wrong(f"{path}.onExitCodes.values", exits.get("values"), "at least one value is required")


def _restarts(spec: Object, field: str) -> Causes:
    policy = ((spec.get("template") or {}).get("spec") or {}).get("restartPolicy", "")
    if policy in ("Always", ""):
        yield required(field, 'valid values: "OnFailure", "Never"')
    elif policy not in ("OnFailure", "Never"):
        yield unsupported(field, policy, ("OnFailure", "Never"))
    elif "podFailurePolicy" in spec and policy != "Never":
        yield wrong(field, policy, 'only "Never" is supported when podFailurePolicy is specified')


def cron_job(obj: Object, old: Object | None) -> Causes:
    """https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"""
    spec = obj.get("spec") or {}
    name = obj["metadata"].get("name", "")
    if not spec.get("schedule"):
        yield required("spec.schedule")
    else:
        yield from _schedule(spec["schedule"])
    yield from not_negative(spec, "spec", "startingDeadlineSeconds")
    if "timeZone" in spec and (not old or old["spec"].get("timeZone") != spec["timeZone"]):
        yield from _zone(spec["timeZone"])
    yield from one_of(spec.get("concurrencyPolicy"), "spec.concurrencyPolicy", ("Allow", "Forbid", "Replace"))
    inner = (spec.get("jobTemplate") or {}).get("spec") or {}
    if "selector" in inner:
        yield wrong("spec.jobTemplate.spec.selector", inner["selector"], "`selector` will be auto-generated")
    if inner.get("manualSelector"):
        yield unsupported("spec.jobTemplate.spec.manualSelector", True, ("nil", "false"))
    yield from _job_spec(inner, "spec.jobTemplate.spec")
    yield from not_negative(spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")
    if not old and len(name) > LONGEST_CRON_NAME:
        yield wrong("metadata.name", name, f"must be no more than {LONGEST_CRON_NAME} characters")


def _schedule(schedule: str) -> Iterator[Cause]:
    if "TZ" in schedule:
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        yield wrong("spec.schedule", schedule, why)
    elif schedule.startswith("@"):
        if schedule not in MACROS and not re.fullmatch(r"@every (\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+", schedule):
            yield wrong("spec.schedule", schedule, f"unrecognized descriptor: {schedule}")
    else:
        yield from _cron_fields(schedule)


def _cron_fields(schedule: str) -> Iterator[Cause]:
    fields = schedule.split()
    if len(fields) != len(CRON_LIMITS):
        why = f"expected exactly {len(CRON_LIMITS)} fields, found {len(fields)}: [{' '.join(fields)}]"
        yield wrong("spec.schedule", schedule, why)
        return
    for text, (low, high) in zip(fields, CRON_LIMITS, strict=True):
        for part in text.split(","):
            said = _cron_part(part, low, high)
            if said:
                yield wrong("spec.schedule", schedule, said)
                return


def _cron_part(part: str, low: int, high: int) -> str:
    """What is wrong with one of a field's parts; "" if nothing."""
    if not CRON_PART.fullmatch(part):
        number = part.partition("/")[0].partition("-")[0]
        return f'failed to parse int from {number}: strconv.Atoi: parsing "{number}": invalid syntax'
    numbers = re.findall("[0-9]+", part.partition("/")[0])
    if huge := [number for number in numbers if len(number) > 18]:
        return f'failed to parse int from {huge[0]}: strconv.Atoi: parsing "{huge[0]}": value out of range'
    for value in map(int, numbers):
        if value > high:
            return f"end of range ({value}) above maximum ({high}): {part}"
        if value < low:
            return f"beginning of range ({value}) below minimum ({low}): {part}"
    return f"step of range should be a positive number: {part}" if re.search(r"/0+$", part) else ""


def _zone(zone: str) -> Iterator[Cause]:
    field = "spec.timeZone"
    if not zone:
        yield wrong(field, zone, "timeZone must be nil or non-empty string")
    elif zone.lower() == "local":
        yield wrong(field, zone, "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones")
    elif zone not in _zones():
        yield wrong(field, zone, f"unknown time zone {zone}")


@cache
def _zones() -> frozenset[str]:
    """Read once: to walk through the files of all zones takes milliseconds."""
    return frozenset(zoneinfo.available_timezones())


CHECKS = {"jobs.batch": job, "cronjobs.batch": cron_job}
