"""A custom kind of a test's own, on a real API server and as ours: both say what becomes of an object."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from kubesandbox.status import Cause, Refused
from kubesandbox.structural import defaults, prune, validate
from kubetypes.openapi.schemas import Schema
from tests.fakes import objects
from tests.kubesandbox.oracle import Oracle

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
Causes = list[tuple[str, str, str]]
Raw = dict[str, Any]


@dataclass(frozen=True)
class Verdict:
    """What becomes of an object: the code, what is wrong with it, what is kept of it."""

    code: int
    causes: Causes
    kept: Raw


def told(causes: list[Cause]) -> Causes:
    """Causes in an order of their own: the API server's is not always the same."""
    return sorted((cause.field, cause.reason, cause.message) for cause in causes)


def said(answer: Raw) -> Causes:
    """The causes of an answer."""
    causes = (answer.get("details") or {}).get("causes") or []
    return sorted((one.get("field", ""), one.get("reason", ""), one.get("message", "")) for one in causes)


def definition(schema: Raw, group: str = "widgets.structural.test", **version: Any) -> Raw:
    """A definition of cluster-scoped Widgets in one version."""
    names = {"plural": "widgets", "kind": "Widget"}
    made: Raw = objects.definition(group, "Widget", "v1", schema=schema, scope="Cluster", names=names)
    made["spec"]["versions"][0] |= version
    return made


def with_fields(**fields: Raw) -> Raw:
    """The schema of an object whose spec has these fields."""
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}


class Widgets:
    """A schema that is served by the real API server, and ours."""

    def __init__(self, oracle: Oracle, schema: Raw, group: str) -> None:
        self._oracle = oracle
        self._schema = Schema(schema)
        self._group = group
        self.path = f"/apis/{group}/v1/widgets"

    def named(self, obj: Raw) -> Raw:
        """An object with its type and a name."""
        return {"apiVersion": f"{self._group}/v1", "kind": "Widget", "metadata": {"name": "a"}} | obj

    def theirs(self, obj: Raw) -> Verdict:
        """What the real API server makes of an object."""
        return _verdict(*self._oracle.ask("POST", self.path, self.named(obj), dryRun="All"))

    def ours(self, obj: Raw, old: Raw | None = None) -> Verdict:
        """What we make of it."""
        try:
            pruned, _ = prune.pruned(self.named(obj), self._schema)
        except Refused as refused:
            return Verdict(refused.code, [("", "", refused.message)], {})
        kept = defaults.defaulted(pruned, self._schema)
        causes = told(validate.problems(kept, self._schema, old))
        return Verdict(422, causes, {}) if causes else Verdict(201, [], _content(kept))


def _verdict(code: int, answer: Raw) -> Verdict:
    if code == 201:
        return Verdict(code, [], _content(answer))
    return Verdict(code, said(answer) or [("", "", answer["message"])], {})


def _content(obj: Raw) -> Raw:
    return {key: value for key, value in obj.items() if key != "metadata"}


@contextmanager
def widgets(oracle: Oracle, schema: Raw, **version: Any) -> Iterator[Widgets]:
    """Widgets of a schema, served until the end."""
    group = f"{oracle.unique(schema, version)}.structural.test"
    oracle.made(CRDS, definition(schema, group, **version))
    try:
        served = Widgets(oracle, schema, group)
        oracle.until(lambda: oracle.ask("GET", served.path)[0] == 200)
        yield served
    finally:
        oracle.remove(f"{CRDS}/widgets.{group}")
