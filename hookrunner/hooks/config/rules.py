"""What a v1 configuration must fulfil beyond its tables: yields everything that is wrong with it.

A binding gets the snapshots that it names and those of its group. Several kubernetes bindings of one name are fine,
unnamed ones are common; each keeps a snapshot of its own. A name is refused only where a snapshot is looked up by it
and it could mean more than one.

The API server's rules for webhooks are checked when a hook is loaded instead of when it is registered. shell-operator
checks validating bindings only; the API server refuses the same things in mutating ones, so both are checked here.
Source of the rules: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from hookrunner import cron
from hookrunner.errors import BadCrontab
from hookrunner.hooks.config import permissions, selectors
from hookrunner.hooks.config.schema import QUEUE, RESIDENT, V1_OF, HookKind
from hookrunner.model.bindings import LONGEST_LINE, MAIN, HookConfig
from hookrunner.model.reviews import webhook_name
from hookrunner.options import duration, size, within
from hookrunner.shapes import Problem, check, suggestion
from kubetypes.json_values import JSON

_MOST_CONDITIONS = 64
_MOST_NAMES = 50
"""Of bindings, with which one that is missing is compared."""
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_QUALIFIED = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL}){{2,}}")

_SUBDOMAIN = rf"{_LABEL}(?:\.{_LABEL})*"
_CONDITION = re.compile(rf"(?:(?=.{{1,253}}/){_SUBDOMAIN}/)?(?=.{{1,63}}\Z)[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")


def problems(raw: JSON, kind: HookKind = HookKind.PLAIN) -> Iterator[Problem]:
    """All problems of the answer of a hook of this kind. What the tables refuse is reported once and not checked
    further."""
    wrong = list(check(raw, V1_OF[kind]))
    yield from wrong
    settings = raw.get("settings")
    yield from _settings(_sound("settings", settings, wrong) if isinstance(settings, dict) else {})
    kubernetes = [item for _, item in items(raw, "kubernetes", wrong)]
    # A name that cannot be read may be the very one that a binding includes.
    names = binding_names(kubernetes)
    named = not any(re.fullmatch(r"kubernetes(\[\d+](\.name)?)?", problem.path) for problem in wrong)
    for key, rule in _RULES.items():
        for path, item in items(raw, key, wrong):
            yield from rule(path, item)
            yield from include_problems(path, item, names) if named else ()
    yield from ambiguous_includes(kubernetes) if named else ()
    for key in ("kubernetesValidating", "kubernetesMutating"):
        yield from repeated_names(key, [item.get("name", "") for _, item in items(raw, key, wrong)])


def items(raw: JSON, key: str, wrong: Sequence[Problem]) -> Iterator[tuple[str, JSON]]:
    """Path and sound part of each binding in a list."""
    items = raw.get(key)
    for index, item in enumerate(items if isinstance(items, list) else []):
        if isinstance(item, dict):
            yield f"{key}[{index}]", _sound(f"{key}[{index}]", item, wrong)


def _sound(path: str, item: JSON, wrong: Sequence[Problem]) -> JSON:
    """The keys of a mapping that have no problem yet."""
    if not wrong:
        return item
    inside = (problem.path.removeprefix(f"{path}.") for problem in wrong if problem.path.startswith(f"{path}."))
    spoiled = {re.split(r"[.[]", key)[0] for key in inside}
    return {key: value for key, value in item.items() if key not in spoiled}


def _settings(settings: JSON) -> Iterator[Problem]:
    for key in ("executionMinInterval", "timeout"):
        text = settings.get(key, "0")
        try:
            duration(text)
        except ValueError:
            yield Problem(f"settings.{key}", "is invalid: not a duration; write one such as 30s or 1m30s", text)
    for index, rule in enumerate(settings.get("permissions", [])):
        yield from permissions.problems(f"settings.permissions[{index}]", rule)
    yield from _resident(settings.get("resident", False))
    yield from _queues(settings.get("queues", {}))


_RESIDENT_TEXTS: Mapping[str, tuple[Callable[[str], float], str]] = {
    "idle": (duration, "5m, or 0 to stay"),
    "maxMemory": (size, "512Mi, or 0 for no limit"),
    "maxLine": (within(size, 1 << 10, LONGEST_LINE), "16Mi, at least 1Ki and at most 64Mi"),
}
"""How each is read, and what to write."""


def _resident(value: JSON) -> Iterator[Problem]:
    """The settings of a resident hook: true, false or a table."""
    path = "settings.resident"
    if isinstance(value, bool):
        return
    if not isinstance(value, dict):
        yield Problem(path, "must be true, false or an object; write `resident: true` or {workers: 2}", value)
        return
    wrong = list(check(value, RESIDENT, path))
    yield from wrong
    sound = _sound(path, value, wrong)
    for key, (read, advice) in _RESIDENT_TEXTS.items():
        try:
            _ = key in sound and read(sound[key])
        except ValueError:
            yield Problem(f"{path}.{key}", f"is invalid; write one such as {advice}", sound[key])


def _queues(value: JSON) -> Iterator[Problem]:
    """Rules of queues by their names. `main` is every hook's, and what is in it runs one after the other."""
    path = "settings.queues"
    if not isinstance(value, dict):
        yield Problem(path, "must be an object; write {queue: {concurrency: 5, orderBy: object}}", value)
        return
    for name, queue_rules in value.items():
        if name == MAIN:
            yield Problem(f"{path}.{name}", "cannot have rules; give the binding a queue of its own")
        else:
            yield from check(queue_rules, QUEUE, f"{path}.{name}")


def schedule(path: str, item: JSON) -> Iterator[Problem]:
    """A crontab or a time zone that cannot be read."""
    try:
        zone = cron.time_zone(item["timezone"]) if item.get("timezone") else None
    except BadCrontab as error:
        zone = None
        yield Problem(f"{path}.timezone", f"is invalid: {error}", item["timezone"])
    if "crontab" not in item:
        return
    try:
        cron.parse(item["crontab"], zone)
    except BadCrontab as error:
        yield Problem(f"{path}.crontab", f"is invalid: {error}", item["crontab"])


def _kubernetes(path: str, item: JSON) -> Iterator[Problem]:
    group, slash, version = item.get("apiVersion", "").rpartition("/")
    if "/" in group or (slash and not version):
        text = "is invalid: not `version` or `group/version`, such as v1 or apps/v1"
        yield Problem(f"{path}.apiVersion", text, item["apiVersion"])
    yield from selectors.label_problems(f"{path}.labelSelector", item.get("labelSelector"))
    namespace = item.get("namespace", {})
    yield from selectors.label_problems(f"{path}.namespace.labelSelector", namespace.get("labelSelector"))
    if item.get("nameSelector", {}).get("matchNames") and "fieldSelector" in item:
        for index in selectors.on_name(item["fieldSelector"]):
            text = "'metadata.name' and nameSelector.matchNames are mutually exclusive; keep one of them"
            yield Problem(f"{path}.fieldSelector.matchExpressions[{index}]", text)
    if item.get("synchronizeEachObject"):
        yield from (Problem(f"{path}.synchronizeEachObject", text) for text in _each_object(item))


def _each_object(item: JSON) -> Iterator[str]:
    """What makes a run for each object at the start impossible."""
    if item.get("group"):
        yield "and group exclude each other: a group is about all objects; keep one of them"
    if not item.get("executeHookOnSynchronization", True):
        yield "needs executeHookOnSynchronization, which is false; keep one of them"
    if (item.get("queue") or MAIN) == MAIN:
        yield f"needs a queue of its own, since a failed run in '{MAIN}' holds up all others; write `queue: NAME`"


def webhook_problems(path: str, binding: JSON) -> Iterator[Problem]:
    """What the API server would refuse about one binding whose shape is right."""
    if "name" in binding and not _QUALIFIED.fullmatch(binding["name"]):
        text = (
            f"'{binding['name']}' is not a fully qualified name; write at least three lower-case parts: a.example.com"
        )
        yield Problem(f"{path}.name", text)
    for index, rule in enumerate(binding.get("rules", [])):
        yield from _rule(f"{path}.rules[{index}]", rule)
    yield from selectors.label_problems(f"{path}.labelSelector", binding.get("labelSelector"))
    namespaces = binding.get("namespace", {}).get("labelSelector")
    yield from selectors.label_problems(f"{path}.namespace.labelSelector", namespaces)
    yield from _conditions(f"{path}.matchConditions", binding.get("matchConditions", []))


def misnamed_webhooks(config: HookConfig, unit: str) -> Iterator[str]:
    """Webhooks of a module's hook that cannot be registered under their names, which begin with the module's. One such
    would keep all others from being registered."""
    for binding in (*config.validating, *config.mutating):
        if not _QUALIFIED.fullmatch(name := webhook_name(binding.name, unit)):
            text = f"would be registered as '{name}', which the API server refuses as a name; rename it or the module"
            yield f"the webhook '{binding.name}' {text}"


def conversion_problems(path: str, binding: JSON) -> Iterator[Problem]:
    """Names that no CustomResourceDefinition can have, and rules that convert nothing. Versions may be added to the
    definition later."""
    crd = binding.get("crdName")
    if crd is not None and ("." not in crd or not re.fullmatch(_SUBDOMAIN, crd)):
        text = f"'{crd}' is not the name of a CustomResourceDefinition; write PLURAL.GROUP: crontabs.stable.example.com"
        yield Problem(f"{path}.crdName", text)
    for index, rule in enumerate(binding.get("conversions", [])):
        if rule["fromVersion"] == rule["toVersion"]:
            text = f"leads from '{rule['toVersion']}' to itself; write two versions"
            yield Problem(f"{path}.conversions[{index}]", text)


def repeated_names(path: str, names: Sequence[str]) -> Iterator[Problem]:
    """Names of webhooks must be unique within a hook."""
    for name, count in Counter(names).items():
        if name and count > 1:
            yield Problem(path, f"has {count} bindings named '{name}'; names must be unique, rename all but one")


def _conditions(path: str, conditions: Sequence[JSON]) -> Iterator[Problem]:
    """Whether their expressions compile is checked by the linter: CEL is an optional dependency."""
    if len(conditions) > _MOST_CONDITIONS:
        yield Problem(path, f"has {len(conditions)} items, and {_MOST_CONDITIONS} are the most; join some by &&")
    seen = set[str]()
    for index, condition in enumerate(conditions):
        name = condition["name"]
        if not _CONDITION.fullmatch(name):
            text = f"'{name}' is not a name of letters, digits, '-', '_' and '.'; write for example exclude-leases"
            yield Problem(f"{path}[{index}].name", text)
        if name in seen:
            yield Problem(f"{path}[{index}].name", f"'{name}' is the name of an earlier one; rename it")
        seen.add(name)
        if not condition["expression"].strip():
            yield Problem(f"{path}[{index}].expression", "is empty; write a CEL expression, or drop the condition")


def _rule(path: str, rule: JSON) -> Iterator[Problem]:
    for key in ("apiGroups", "apiVersions", "operations"):
        if "*" in rule[key] and len(rule[key]) > 1:
            yield Problem(f"{path}.{key}", "is invalid: '*' must stand alone; drop it or the others")
    for key in ("apiVersions", "resources"):
        if "" in rule[key]:
            yield Problem(f"{path}.{key}", "is invalid: an empty text names nothing; drop it or write '*'")
    yield from (Problem(f"{path}.resources", f"is invalid: {text}") for text in _resources(rule["resources"]))


def _resources(resources: Sequence[str]) -> Iterator[str]:
    if "*/*" in resources and len(resources) > 1:
        yield "'*/*' must stand alone; drop it or the others"
    if "*" in resources and any("/" not in item and item != "*" for item in resources):
        yield "'*' already means every resource without a subresource; drop it or the others"
    earlier = set[str]()
    for item in resources:
        resource, slash, subresource = item.partition("/")
        for wild in (f"{resource}/*", f"*/{subresource}"):
            if slash and item != "*/*" and wild in earlier:
                yield f"'{wild}' already covers '{item}'; drop one of them"
        earlier.add(item)


_RULES: dict[str, Callable[[str, JSON], Iterator[Problem]]] = {
    "kubernetes": _kubernetes,
    "schedule": schedule,
    "kubernetesValidating": webhook_problems,
    "kubernetesMutating": webhook_problems,
    "kubernetesCustomResourceConversion": conversion_problems,
}


UNNAMED = "kubernetes"
"""The name of a kubernetes binding that gives itself none."""


def snapshot_groups(bindings: Sequence[JSON]) -> dict[str, tuple[str, ...]]:
    """Names of the kubernetes bindings of each group, in config order, each once."""
    groups: dict[str, dict[str, None]] = {}
    for item in bindings:
        if group := item.get("group"):
            groups.setdefault(group, {})[item.get("name") or UNNAMED] = None
    return {group: tuple(names) for group, names in groups.items()}


def effective_includes(binding: JSON, members: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """What the binding includes by name, then the rest of its group, each name once."""
    own, group = binding.get("includeSnapshotsFrom", []), members.get(binding.get("group", ""), ())
    return tuple(dict.fromkeys([*own, *group])) if own else tuple(group)


def binding_names(kubernetes: Sequence[JSON]) -> Counter[str]:
    """The names of kubernetes bindings, and how many have each."""
    return Counter(item.get("name") or UNNAMED for item in kubernetes)


def include_problems(path: str, binding: JSON, names: Counter[str]) -> Iterator[Problem]:
    """Included names that are not the name of exactly one kubernetes binding."""
    for name in binding.get("includeSnapshotsFrom", []):
        count = names[name]
        if count == 0:
            known = sorted(names)[:_MOST_NAMES]
            advice = suggestion(name, known) or f"; kubernetes bindings are named {known}"
            yield Problem(f"{path}.includeSnapshotsFrom", f"is invalid: '{name}' binding name not found{advice}")
        elif count > 1:
            text = f"is invalid: there are {count} '{name}' binding names; give each a name of its own"
            yield Problem(f"{path}.includeSnapshotsFrom", text)


def ambiguous_includes(kubernetes: Sequence[JSON]) -> Iterator[Problem]:
    """Different bindings of one group under one name: which of them is `snapshots.<name>`?"""
    first_of: dict[tuple[str, str], int] = {}
    for index, binding in enumerate(kubernetes):
        group, name = binding.get("group"), binding.get("name") or UNNAMED
        first = first_of.setdefault((group, name), index) if group else index
        if binding != kubernetes[first]:
            text = f"'{name}' is also the name of kubernetes[{first}] in group '{group}'; give each a name of its own"
            yield Problem(f"kubernetes[{index}].name", text)
