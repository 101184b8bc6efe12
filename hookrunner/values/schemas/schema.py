"""One schema of a section, ready for use."""

from dataclasses import dataclass

from hookrunner.model.resources import JSON
from hookrunner.values.schemas import checking, expressions
from hookrunner.values.schemas.checking import Terms
from hookrunner.values.schemas.filling import filled
from hookrunner.values.schemas.node import Node

_MOST_LINES = 20


@dataclass(frozen=True, slots=True)
class Schema:
    """What a section must be. Made by `loading.load`."""

    node: Node
    terms: Terms

    def problems(self, value: JSON, old: JSON = None) -> list[str]:
        """What is wrong with a section, one line each: path, what, and where the rule is written. At most 21 lines.

        `old` is what the section was, for rules about changes. Rules in CEL are asked of what is otherwise right.
        """
        try:
            found = list(checking.problems(self.node, value, "", self.terms))
            found = found or list(expressions.problems(self.node, value, old))
        except RecursionError:
            return ["the section is nested too deep"]
        more = [f"and {len(found) - _MOST_LINES} more"] if len(found) > _MOST_LINES else []
        return [" ".join(line.split()) for line in found[:_MOST_LINES]] + more

    def defaults(self, value: JSON) -> JSON:
        """The section with the defaults of what is absent; the section itself if there are none. It is not changed."""
        try:
            return filled(self.node, value)
        except RecursionError:
            return value  # `problems` says so
