"""Is a custom object as its definition's schema says? Everything that is wrong with it, as the API server words it.

An object comes here pruned and defaulted. Its own apiVersion, kind and metadata are checked by the verbs.
"""

from collections.abc import Iterator
from functools import lru_cache

from kubesandbox.schemas import Schema
from kubesandbox.status import Cause
from kubesandbox.structural import embedded, evaluated, lists
from kubesandbox.structural.checks import NOTHING, Checks
from kubesandbox.structural.found import Complaint, causes
from kubetypes import cel
from kubetypes.json_values import JSON


def problems(obj: JSON, schema: Schema, old: JSON | None = None) -> list[Cause]:
    """What is wrong with an object; `old` is what it replaces: old sins in parts that did not change are no problem.

    Raises `patterns.NotDoneHere` for a pattern that `definition.problems` refuses.
    """
    prepared = _prepared(schema)
    found: list[Complaint] = []
    prepared.checks.run_ratcheting(obj, NOTHING if old is None else old, "", found)
    return prepared.with_rules([*causes(found), *prepared.more(obj, old)], obj, old)


def status_problems(obj: JSON, schema: Schema, old: JSON) -> list[Cause]:
    """What is wrong with the `status` of an object that was written by the status subresource."""
    found: list[Complaint] = []
    prepared = _prepared(schema)
    checks = prepared.checks.properties.get("status")
    if checks is not None and "status" in obj:
        checks.run_ratcheting(obj["status"], old.get("status", NOTHING), "", found)
    return prepared.with_rules([*causes(found, "status"), *prepared.lists(obj, old)], obj, old)


class _Prepared:
    """A schema's checks, made once; what has nothing to check is left out."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self.checks = Checks(schema.raw)
        self._lists = lists.matter(schema)
        self._embedded = embedded.matter(schema)
        self._rules = evaluated.Rules(schema.raw) if cel.available() else None

    def more(self, obj: JSON, old: JSON | None) -> Iterator[Cause]:
        if self._embedded:
            yield from embedded.problems(obj, self._schema)
        yield from self.lists(obj, old)

    def with_rules(self, found: list[Cause], obj: JSON, old: JSON | None) -> list[Cause]:
        """With what the rules say, if nothing else stands in the way of asking them."""
        if self._rules is None or not self._rules.matter:
            return found
        if evaluated.blocked(found):
            return [*found, evaluated.SKIPPED]
        return [*found, *self._rules.problems(obj, old)]

    def lists(self, obj: JSON, old: JSON | None) -> Iterator[Cause]:
        if self._lists and (old is None or not any(lists.problems(old, self._schema))):
            yield from lists.problems(obj, self._schema)


@lru_cache(maxsize=512)
def _prepared(schema: Schema) -> _Prepared:
    return _Prepared(schema)
