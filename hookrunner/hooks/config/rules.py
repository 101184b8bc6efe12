"""What a v1 configuration must fulfil beyond its tables (shell-operator.md §2): everything wrong with it, at once."""

from collections.abc import Callable, Iterator, Sequence

from hookrunner import cron
from hookrunner.errors import BadCrontab
from hookrunner.hooks.config import admission, includes, selectors
from hookrunner.hooks.config.schema import V1
from hookrunner.hooks.shapes import Problem, check
from hookrunner.model.resources import JSON
from hookrunner.options import duration


def problems(raw: JSON) -> Iterator[Problem]:
    """All problems of an answer. What is told about a binding's shape is not told again by a later rule."""
    spoiled = list(check(raw, V1))
    yield from spoiled
    settings = raw.get("settings")
    if isinstance(settings, dict):
        yield from _settings(settings)
    kubernetes = [item for _, item in _sound(raw, "kubernetes", spoiled)]
    complete = "kubernetes" not in raw or len(kubernetes) == len(raw["kubernetes"] or [])
    for key, rule in _RULES.items():
        for path, item in _sound(raw, key, spoiled):
            yield from rule(path, item)
            if complete:
                yield from includes.problems(path, item, kubernetes)
    if complete:
        yield from includes.ambiguities(kubernetes)
    for key in ("kubernetesValidating", "kubernetesMutating"):
        yield from admission.repeated_names(key, [item["name"] for _, item in _sound(raw, key, spoiled)])


def _sound(raw: JSON, key: str, spoiled: Sequence[Problem]) -> Iterator[tuple[str, JSON]]:
    """Path and value of the items whose shape is right."""
    items = raw.get(key)
    for place, item in enumerate(items if isinstance(items, list) else []):
        path = f"{key}[{place}]"
        if not any(problem.path.startswith(path) for problem in spoiled):
            yield path, item


def _settings(settings: JSON) -> Iterator[Problem]:
    for key in ("executionMinInterval", "timeout"):
        text = settings.get(key, "0")
        if not isinstance(text, str):
            continue
        try:
            duration(text)
        except ValueError:
            yield Problem(f"settings.{key}", f"is invalid: '{text}' is not a duration; write one such as 30s or 1m30s")


def schedule(path: str, item: JSON) -> Iterator[Problem]:
    """A crontab or a time zone that cannot be read."""
    try:
        zone = cron.time_zone(item["timezone"]) if item.get("timezone") else None
    except BadCrontab as error:
        zone = None
        yield Problem(f"{path}.timezone", f"is invalid: {error}")
    try:
        cron.parse(item.get("crontab", ""), zone)
    except BadCrontab as error:
        yield Problem(f"{path}.crontab", f"is invalid: {error}")


def _kubernetes(path: str, item: JSON) -> Iterator[Problem]:
    group, slash, version = item.get("apiVersion", "").rpartition("/")
    if "/" in group or (slash and not version):
        text = f"is invalid: '{item['apiVersion']}' is not `version` or `group/version`, such as v1 or apps/v1"
        yield Problem(f"{path}.apiVersion", text)
    yield from admission.label_selector(f"{path}.labelSelector", item.get("labelSelector"))
    namespace = item.get("namespace", {})
    yield from admission.label_selector(f"{path}.namespace.labelSelector", namespace.get("labelSelector"))
    if item.get("nameSelector", {}).get("matchNames") and "fieldSelector" in item:
        for place in selectors.on_name(item["fieldSelector"]):
            text = "'metadata.name' and nameSelector.matchNames are mutually exclusive; keep one of them"
            yield Problem(f"{path}.fieldSelector.matchExpressions[{place}]", text)


def _nothing(path: str, item: JSON) -> Iterator[Problem]:
    """The table says it all."""
    yield from ()


_RULES: dict[str, Callable[[str, JSON], Iterator[Problem]]] = {
    "kubernetes": _kubernetes,
    "schedule": schedule,
    "kubernetesValidating": admission.problems,
    "kubernetesMutating": admission.problems,
    "kubernetesCustomResourceConversion": _nothing,
}
