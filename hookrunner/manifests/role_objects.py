"""Rights as objects of Kubernetes: roles, their bindings, and the account that gets them.

    objects = [*to_account(account), *to_roles("hookrunner", rights, account)]

Each right becomes one rule, in the order given; `model/rights.py` merges them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hookrunner.model.rights import Right
from kubetypes.json_values import JSON

_GROUP = "rbac.authorization.k8s.io"


class Account(NamedTuple):
    """A ServiceAccount."""

    namespace: str
    name: str


def to_account(account: Account) -> Iterator[JSON]:
    """The ServiceAccount, and its namespace, which may exist already."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": account.namespace}}
    yield {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account._asdict()}


def to_roles(name: str, rights: Iterable[Right], account: Account) -> list[JSON]:
    """A ClusterRole, and a Role in each namespace of which a right is, with their bindings; all are called `name`."""
    by_namespace: dict[str, list[Right]] = {"": []}
    for right in rights:
        by_namespace.setdefault(right.namespace, []).append(right)
    roles = [(namespace, [to_rule(right) for right in same]) for namespace, same in by_namespace.items() if same]
    return [obj for namespace, rules in roles for obj in _role(name, namespace, rules, account)]


def _role(name: str, namespace: str, rules: Sequence[JSON], account: Account) -> Iterator[JSON]:
    kind = "Role" if namespace else "ClusterRole"
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    yield {"apiVersion": f"{_GROUP}/v1", "kind": kind, "metadata": metadata, "rules": rules}
    yield {
        "apiVersion": f"{_GROUP}/v1",
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": name},
        "subjects": [{"kind": "ServiceAccount", **account._asdict()}],
    }


def to_rule(right: Right) -> JSON:
    """The right as an item of `rules`, without its namespace."""
    parts = {
        "apiGroups": right.groups,
        "resources": right.resources,
        "resourceNames": right.names,
        "nonResourceURLs": right.urls,
        "verbs": right.verbs,
    }
    return {key: list(words) for key, words in parts.items() if words}


def to_line(right: Right) -> str:
    """The rule as a line of YAML, for a person to copy."""
    parts = {key: ", ".join(word or '""' for word in words) for key, words in to_rule(right).items()}
    return "{" + ", ".join(f"{key}: [{words}]" for key, words in parts.items()) + "}"
