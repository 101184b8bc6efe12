"""The rights that the cloud controller manager needs, by what is on: the one table that `hookrunner cloud rbac`, the
chart of the module and docs/cloud.md share.

    rights = rights_of(settings)            # rows of the table that apply
    objects = to_manifests(rights, ...)     # ClusterRole, Role and their bindings

The finalizer of a Service is written through `services/status`, as upstream's manager does, so that `services` need no
`patch`. Creating a Lease cannot be limited to one name.
Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hookrunner.settings import Settings
from hookrunner.settings.cloud_option_types import LIFECYCLE, NODE, ROUTE, SERVICE
from kubetypes.json_values import JSON

ROLE = "hookrunner-cloud"
"""The name of the objects, unless another is given."""


@dataclass(frozen=True, slots=True)
class CloudRight:
    """A row of the table. `loops`: one of them must be on, empty means always. `named` limits it to the lease's
    name; `in_namespace` makes it a right in the namespace of the lease alone."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    loops: frozenset[str] = frozenset()
    when: str = ""
    named: bool = False
    in_namespace: bool = False


_DELETES, _ELECTS = "deletions", "election"

RIGHTS = (
    CloudRight("", "nodes", ("get", "list", "watch")),
    CloudRight("", "nodes", ("patch",), frozenset({NODE, LIFECYCLE})),
    CloudRight("", "nodes", ("delete",), frozenset({LIFECYCLE}), when=_DELETES),
    CloudRight("", "nodes/status", ("patch",), frozenset({NODE, ROUTE})),
    CloudRight("", "services", ("get", "list", "watch"), frozenset({SERVICE})),
    CloudRight("", "services/status", ("patch",), frozenset({SERVICE})),
    CloudRight("", "events", ("create", "patch")),
    CloudRight("coordination.k8s.io", "leases", ("create",), when=_ELECTS, in_namespace=True),
    CloudRight("coordination.k8s.io", "leases", ("get", "update"), when=_ELECTS, named=True, in_namespace=True),
)


def rights_of(settings: Settings) -> tuple[CloudRight, ...]:
    """The rows that apply."""
    loops = active_loops(settings)
    on = {
        "",
        *([] if settings.cloud_nodes.dry_run else [_DELETES]),
        *([_ELECTS] if settings.leader_election.on else []),
    }
    return tuple(right for right in RIGHTS if right.when in on and (not right.loops or right.loops & loops))


def active_loops(settings: Settings) -> frozenset[str]:
    """The loops that may run, if the provider has what they need. There are no routes without networks of Pods."""
    cloud = settings.cloud
    return cloud.loops if cloud.cidrs and cloud.routes is not False else cloud.loops - {ROUTE}


def to_manifests(rights: Iterable[CloudRight], account: tuple[str, str], lease: tuple[str, str]) -> list[JSON]:
    """The ClusterRole, the Role and their bindings, for the ServiceAccount `account` (namespace, name); `lease` is
    (namespace, name). Without rights in the namespace there is no Role."""
    everywhere = [right for right in rights if not right.in_namespace]
    in_namespace = [right for right in rights if right.in_namespace]
    objects = [*_role("ClusterRole", "", _rules(everywhere, lease[1]), account)]
    if in_namespace:
        objects += _role("Role", lease[0], _rules(in_namespace, lease[1]), account)
    return objects


def _rules(rights: Iterable[CloudRight], lease: str) -> list[JSON]:
    """One rule for each resource, but one of its own where names limit it."""
    verbs: dict[tuple[str, str, bool], list[str]] = {}
    for right in rights:
        verbs.setdefault((right.group, right.resource, right.named), []).extend(right.verbs)
    return [
        {
            "apiGroups": [group],
            "resources": [resource],
            **({"resourceNames": [lease]} if named else {}),
            "verbs": allowed,
        }
        for (group, resource, named), allowed in verbs.items()
    ]


def _role(kind: str, namespace: str, rules: list[JSON], account: tuple[str, str]) -> Iterator[JSON]:
    version = "rbac.authorization.k8s.io/v1"
    metadata = {"name": ROLE, **({"namespace": namespace} if namespace else {})}
    yield {"apiVersion": version, "kind": kind, "metadata": metadata, "rules": rules}
    yield {
        "apiVersion": version,
        "kind": f"{kind}Binding",
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": ROLE},
        "subjects": [{"kind": "ServiceAccount", "namespace": account[0], "name": account[1]}],
    }
