"""What a v1 configuration must fulfil beyond its tables (shell-operator.md §2): everything wrong with it, at once."""

import re
from collections.abc import Callable, Iterator, Sequence

from hookrunner import cron
from hookrunner.errors import BadCrontab
from hookrunner.hooks.config import admission, includes, selectors
from hookrunner.hooks.config.kinds import V1_OF, HookKind
from hookrunner.hooks.shapes import Problem, check
from hookrunner.model.resources import JSON
from hookrunner.options import duration


def problems(raw: JSON, kind: HookKind = HookKind.PLAIN) -> Iterator[Problem]:
    """All problems of the answer of a hook of this kind. What is wrong by the tables is told once and not looked at
    any further."""
    wrong = list(check(raw, V1_OF[kind]))
    yield from wrong
    settings = raw.get("settings")
    yield from _settings(_sound("settings", settings, wrong) if isinstance(settings, dict) else {})
    kubernetes = [item for _, item in items(raw, "kubernetes", wrong)]
    # A name that cannot be read may be the very one that somebody includes.
    named = not any(re.fullmatch(r"kubernetes(\[\d+](\.name)?)?", problem.path) for problem in wrong)
    for key, rule in _RULES.items():
        for path, item in items(raw, key, wrong):
            yield from rule(path, item)
            yield from includes.problems(path, item, kubernetes) if named else ()
    yield from includes.ambiguities(kubernetes) if named else ()
    for key in ("kubernetesValidating", "kubernetesMutating"):
        yield from admission.repeated_names(key, [item.get("name", "") for _, item in items(raw, key, wrong)])


def items(raw: JSON, key: str, wrong: Sequence[Problem]) -> Iterator[tuple[str, JSON]]:
    """Path and sound part of each binding in a list."""
    items = raw.get(key)
    for place, item in enumerate(items if isinstance(items, list) else []):
        if isinstance(item, dict):
            yield f"{key}[{place}]", _sound(f"{key}[{place}]", item, wrong)


def _sound(path: str, item: JSON, wrong: Sequence[Problem]) -> JSON:
    """The keys of a mapping that have no problem yet."""
    if not wrong:
        return item
    inside = (problem.path.removeprefix(f"{path}.") for problem in wrong if problem.path.startswith(f"{path}."))
    spoiled = {re.split(r"[.[]", place)[0] for place in inside}
    return {key: value for key, value in item.items() if key not in spoiled}


def _settings(settings: JSON) -> Iterator[Problem]:
    for key in ("executionMinInterval", "timeout"):
        text = settings.get(key, "0")
        try:
            duration(text)
        except ValueError:
            yield Problem(f"settings.{key}", "is invalid: not a duration; write one such as 30s or 1m30s", text)


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
    yield from admission.label_selector(f"{path}.labelSelector", item.get("labelSelector"))
    namespace = item.get("namespace", {})
    yield from admission.label_selector(f"{path}.namespace.labelSelector", namespace.get("labelSelector"))
    if item.get("nameSelector", {}).get("matchNames") and "fieldSelector" in item:
        for place in selectors.on_name(item["fieldSelector"]):
            text = "'metadata.name' and nameSelector.matchNames are mutually exclusive; keep one of them"
            yield Problem(f"{path}.fieldSelector.matchExpressions[{place}]", text)


_RULES: dict[str, Callable[[str, JSON], Iterator[Problem]]] = {
    "kubernetes": _kubernetes,
    "schedule": schedule,
    "kubernetesValidating": admission.problems,
    "kubernetesMutating": admission.problems,
    "kubernetesCustomResourceConversion": admission.conversion,
}
