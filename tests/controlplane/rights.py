"""Rights of a service account, each verb for itself, and how they compare with what it has asked for.

account = log_in(cluster, directory, objects)          # ServiceAccount, roles and bindings, as a chart renders them
...
requests = cluster.audit.requests(account.namespace, account.name)
assert (refused(requests), unused(rights_in(objects), requests)) == ([], [])
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from hookrunner.model.rights import Right
from tests.controlplane.audit import AuditedRequest
from tests.controlplane.cluster import OwnCluster
from tests.controlplane.kubeconfig import Access, write_kubeconfig

RBAC = "/apis/rbac.authorization.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Account:
    """A service account that can be used: its token, and a kubeconfig with it."""

    namespace: str
    name: str
    token: str
    kubeconfig: Path


def rights_in(objects: Iterable[Any]) -> list[Right]:
    """All that the Roles and ClusterRoles among the objects grant, each verb on each resource a right of its own."""
    roles = [obj for obj in objects if obj["kind"] in ("Role", "ClusterRole")]
    return list(dict.fromkeys(right for role in roles for rule in role["rules"] for right in _rights(role, rule)))


def _rights(role: Any, rule: Any) -> Iterator[Right]:
    namespace, names = role["metadata"].get("namespace", ""), rule.get("resourceNames") or [""]
    for url, verb in product(rule.get("nonResourceURLs", ()), rule["verbs"]):
        yield Right((), (), (verb,), urls=(url,))
    for group, resource, name, verb in product(
        rule.get("apiGroups", ()), rule.get("resources", ()), names, rule["verbs"]
    ):
        yield Right((group,), (resource,), (verb,), (name,) if name else (), namespace)


def refused(requests: Iterable[AuditedRequest]) -> list[str]:
    """Requests for which a right was missing, once each."""
    return sorted({str(request) for request in requests if request.is_refused})


def unused(rights: Iterable[Right], requests: Sequence[AuditedRequest]) -> list[Right]:
    """Rights that no request needed."""
    allowed = {request.access for request in requests if not request.is_refused}
    return [right for right in rights if not any(map(right.covers, allowed))]


def log_in(cluster: OwnCluster, directory: Path, objects: Sequence[Any]) -> Account:
    """Create the account and its rights of these objects, and wait until the API server knows the last of them; the
    kubeconfig has its token."""
    (account,) = (obj["metadata"] for obj in objects if obj["kind"] == "ServiceAccount")
    for obj in objects:
        cluster.create(collection_of(obj), obj)
    subject = f"{account['namespace']}:{account['name']}"
    for role in (obj for obj in objects if obj["kind"] in ("Role", "ClusterRole")):
        cluster.wait_for_right(subject, _attributes(role))
    path = f"/api/v1/namespaces/{account['namespace']}/serviceaccounts/{account['name']}/token"
    token = cluster.create(path, {"spec": {"expirationSeconds": 7200}})["status"]["token"]
    file = write_kubeconfig(directory / f"{account['name']}.kubeconfig", Access(cluster.url, cluster.ca, token))
    return Account(account["namespace"], account["name"], token, file)


def collection_of(obj: Any) -> str:
    """The path at which such an object is created."""
    kind, within = f"{obj['kind'].lower()}s", obj["metadata"].get("namespace")
    api = "/api/v1" if kind == "serviceaccounts" else RBAC
    return f"{api}/namespaces/{within}/{kind}" if within else f"{api}/{kind}"


def _attributes(role: Any) -> dict[str, str]:
    """A request that the role allows."""
    right = next(_rights(role, next(rule for rule in role["rules"] if "resources" in rule)))
    resource, _, subresource = right.resources[0].partition("/")
    names = {"name": right.names[0]} if right.names else {}
    where = {"namespace": right.namespace, "group": right.groups[0], "resource": resource, "subresource": subresource}
    return {**where, "verb": right.verbs[0], **names}
