"""Which snapshots a binding gets: those it names and those of its group (shell-operator.md §2.6).

Several kubernetes bindings of one name are fine, unnamed ones are common; each keeps a snapshot of its own. A name is
refused only where somebody looks a snapshot up by it and it could mean more than one.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from hookrunner.hooks.shapes import Problem, suggestion
from hookrunner.model.resources import JSON

UNNAMED = "kubernetes"
"""The name of a kubernetes binding that gives itself none."""


def groups(bindings: Sequence[JSON]) -> dict[str, list[str]]:
    """Names of the kubernetes bindings of each group, in config order."""
    found: dict[str, list[str]] = {}
    for item in bindings:
        if group := item.get("group"):
            found.setdefault(group, []).append(item.get("name") or UNNAMED)
    return found


def effective(binding: JSON, members: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """What the binding includes by name, then the rest of its group, each name once."""
    own = binding.get("includeSnapshotsFrom", [])
    return tuple(dict.fromkeys([*own, *members.get(binding.get("group", ""), [])]))


def problems(path: str, binding: JSON, kubernetes: Sequence[JSON]) -> Iterator[Problem]:
    """Included names that are not the name of exactly one kubernetes binding."""
    names = [item.get("name") or UNNAMED for item in kubernetes]
    for name in binding.get("includeSnapshotsFrom", []):
        count = names.count(name)
        if count == 0:
            mend = suggestion(name, names) or f"; kubernetes bindings are named {sorted(set(names))}"
            yield Problem(f"{path}.includeSnapshotsFrom", f"is invalid: '{name}' binding name not found{mend}")
        elif count > 1:
            text = f"is invalid: there are {count} '{name}' binding names; give each a name of its own"
            yield Problem(f"{path}.includeSnapshotsFrom", text)


def ambiguities(kubernetes: Sequence[JSON]) -> Iterator[Problem]:
    """Different bindings of one group under one name: which of them is `snapshots.<name>`?"""
    for (first, one), (second, other) in combinations(enumerate(kubernetes), 2):
        group, name = other.get("group"), other.get("name") or UNNAMED
        if group and group == one.get("group") and name == (one.get("name") or UNNAMED) and one != other:
            text = f"'{name}' is also the name of kubernetes[{first}] in group '{group}'; give each a name of its own"
            yield Problem(f"kubernetes[{second}].name", text)
