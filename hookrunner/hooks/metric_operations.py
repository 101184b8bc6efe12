"""The file behind `METRICS_PATH`: a stream of JSON objects as metric operations.

Only read here; `metrics/` carries them out, knows what a name may be and adds the label `hook`. An operation without a
group stays ungrouped.
"""

from collections.abc import Iterator

from hookrunner import log
from hookrunner.errors import BadOutput
from hookrunner.hooks import documents
from hookrunner.model.operations import MetricAction, MetricOperation
from hookrunner.shapes import NUMBER, TEXT, TEXTS, Many, Problem, Table, check, suggestion
from kubetypes.json_values import JSON
from kubetypes.yaml_values import BadDocument

_DOCUMENT = Table(
    {
        "name": TEXT,
        "action": TEXT,
        "value": NUMBER,
        "buckets": Many(NUMBER, at_least=0),
        "labels": TEXTS,
        "group": TEXT,
        "add": NUMBER,
        "set": NUMBER,
    },
    open=True,
)
_SHORTCUTS = ("add", "set")

_log = log.get("hooks.metrics")


def parse(text: bytes) -> tuple[MetricOperation, ...]:
    """All operations of a metrics file whose action is known; others are dropped with a warning.

    Raises BadOutput with every problem in the file.
    """
    try:
        operations = [_normal(document) for document in documents.every_json(text)]
    except BadDocument as error:
        raise BadOutput(f"got bad metrics: document {error.number}: {error}") from None
    problems = [
        f"document {number}: {problem}"
        for number, document in enumerate(operations, 1)
        for problem in _problems(document)
    ]
    if problems:
        raise BadOutput("got bad metrics: " + "; ".join(problems))
    return tuple(_to_operation(document) for document in operations if _has_known_action(document))


def _normal(document: JSON) -> JSON:
    """Keys in our spelling, shortcuts written out."""
    fields = documents.folded(document, _DOCUMENT.keys, was_json=True)
    if not isinstance(fields, dict):
        return fields
    given = [key for key in _SHORTCUTS if key in fields]
    if len(given) == 1:
        fields |= {"action": given[0], "value": fields.pop(given[0])}
    if isinstance(fields.get("labels"), dict):
        fields["labels"] = {name: "" if value is None else value for name, value in fields["labels"].items()}
    return fields


def _problems(fields: JSON) -> Iterator[Problem]:
    spoiled = list(check(fields, _DOCUMENT))
    yield from spoiled
    if spoiled or not _is_action(fields):
        return
    action = fields["action"]
    if action != MetricAction.EXPIRE:
        needed = ("name", "value", "buckets") if action == MetricAction.OBSERVE else ("name", "value")
        yield from (Problem(key, f"is required for {action}") for key in needed if fields.get(key) in (None, ""))


def _is_action(fields: JSON) -> bool:
    return fields.get("action") in tuple(MetricAction)


def _has_known_action(fields: JSON) -> bool:
    """Whether the action is known; warn if it is not."""
    if _is_action(fields):
        return True
    action = str(fields.get("action", ""))
    mend = suggestion(action, tuple(MetricAction)) or f"; use one of {', '.join(MetricAction)}"
    _log.warn(f"metric operation is dropped: unknown action{mend}", metric=fields.get("name", ""))
    return False


def _to_operation(fields: JSON) -> MetricOperation:
    return MetricOperation(
        action=MetricAction(fields["action"]),
        name=fields.get("name", ""),
        value=float(fields.get("value", 0)),
        buckets=tuple(map(float, fields.get("buckets", ()))),
        labels=tuple(sorted(fields.get("labels", {}).items())),
        group=fields.get("group", ""),
    )
