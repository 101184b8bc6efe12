"""The file behind `METRICS_PATH`: a stream of JSON objects as metric operations.

Only read here; `metrics/` carries them out, knows what a name may be and adds the label `hook`. An operation without a
group stays ungrouped.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

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
_SHOWN = 20
"""Problems of one file that are named. A hook that makes labels of what others wrote may have a hundred thousand."""
_LONGEST = 200
"""Characters of a name in the log."""

_log = log.get(__name__)


def parse(text: bytes) -> tuple[MetricOperation, ...]:
    """All operations of a metrics file whose action is known; others are dropped with a warning.

    Raises BadOutput with the first problems in the file.
    """
    try:
        items = documents.every_json(text)
    except BadDocument as error:
        raise BadOutput(f"got bad metrics: document {error.number}: {error}") from None
    return to_operations(items)


def to_operations(items: Sequence[JSON]) -> tuple[MetricOperation, ...]:
    """The same for values that have been read."""
    operations = list(map(_normal, items))
    problems = (
        f"document {number}: {problem}"
        for number, document in enumerate(operations, 1)
        for problem in _problems(document)
    )
    if shown := list(islice(problems, _SHOWN)):
        more = ["there are more"] if next(problems, "") else []
        raise BadOutput("got bad metrics: " + "; ".join([*shown, *more]))
    _warn_of_unknown_actions(operations)
    return tuple(_to_operation(document) for document in operations if _is_action(document))


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
    spoiled = list(islice(check(fields, _DOCUMENT), _SHOWN + 1))
    yield from spoiled
    if spoiled or not _is_action(fields):
        return
    action = fields["action"]
    if action != MetricAction.EXPIRE:
        needed = ("name", "value", "buckets") if action == MetricAction.OBSERVE else ("name", "value")
        yield from (Problem(key, f"is required for {action}") for key in needed if fields.get(key) in (None, ""))


def _is_action(fields: JSON) -> bool:
    return fields.get("action") in tuple(MetricAction)


def _warn_of_unknown_actions(operations: Iterable[JSON]) -> None:
    dropped = [fields for fields in operations if not _is_action(fields)]
    for fields in dropped[:_SHOWN]:
        action = str(fields.get("action", ""))[:_LONGEST]
        advice = suggestion(action, tuple(MetricAction)) or f"; use one of {', '.join(MetricAction)}"
        name = fields.get("name", "")[:_LONGEST]
        _log.warn(f"metric operation is dropped: unknown action{advice}", metric=name)
    if len(dropped) > _SHOWN:
        _log.warn("more metric operations are dropped: unknown actions", operations=len(dropped) - _SHOWN)


def _to_operation(fields: JSON) -> MetricOperation:
    return MetricOperation(
        action=MetricAction(fields["action"]),
        name=fields.get("name", ""),
        value=float(fields.get("value", 0)),
        buckets=tuple(map(float, fields.get("buckets", ()))),
        labels=tuple(sorted(fields.get("labels", {}).items())),
        group=fields.get("group", ""),
    )
