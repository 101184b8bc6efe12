"""Rights as objects of Kubernetes: roles, their bindings, and the account that gets them.

    objects = [*to_account(account), *to_roles("hookrunner", rights, account)]

Each right becomes one rule, in the order given; `model/rights.py` merges them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from hookrunner.manifests.yaml_writer import to_scalar
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
    roles = [(namespace, list(map(to_rule, same))) for namespace, same in _by_namespace(rights).items() if same]
    return [obj for namespace, rules in roles for obj in _role(name, namespace, rules, account)]


def _by_namespace(rights: Iterable[Right]) -> dict[str, list[Right]]:
    """The rights that count everywhere first, under ""."""
    found: dict[str, list[Right]] = {"": []}
    for right in rights:
        found.setdefault(right.namespace, []).append(right)
    return found


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
    parts = {key: ", ".join(map(to_scalar, words)) for key, words in to_rule(right).items()}
    return "{" + ", ".join(f"{key}: [{words}]" for key, words in parts.items()) + "}"


def to_values(rights: Iterable[Right]) -> str:
    """The rules as YAML with comments that name who needs each for what: those that count everywhere in the list
    `rules`, the others in a list for each namespace in `namespaces`. It is what the chart takes as `rbac`."""
    by_namespace = _by_namespace(rights)
    everywhere = list(_commented(by_namespace.pop(""), "  "))
    lines = ["rules:", *everywhere] if everywhere else ["rules: []"]
    if by_namespace:
        lines.append("namespaces:")
    for namespace, same in by_namespace.items():
        lines += [f"  {to_scalar(namespace)}:", *_commented(same, "    ")]
    return "\n".join(lines) + "\n"


def _commented(rights: Iterable[Right], indent: str) -> Iterator[str]:
    for right in rights:
        reasons: dict[str, list[str]] = {}
        for need in right.needs:
            reasons.setdefault(need.who, []).append(need.why)
        yield from (f"{indent}# {who}: {'; '.join(why)}" for who, why in reasons.items())
        yield f"{indent}- {to_line(right)}"
