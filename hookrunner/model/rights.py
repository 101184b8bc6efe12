"""A right: a rule as in RBAC, where it counts, and who needs it for what.

    right = Right(("apps",), ("deployments",), ("get", "patch"), namespace="web", needs=(Reason("hook a.sh", "…"),))
    right.covers(AccessRequest("patch", "apps", "deployments", "web", "front"))
    compact(merge(rights))      # no right twice, and as few rules as possible

Used by all that states rights: the table of the cloud's, the advice in errors (`kube/refusals.py`), and `rights/`.
`manifests/role_objects.py` makes objects of it.

Sources: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources, and for what matches
https://github.com/kubernetes/kubernetes/blob/master/pkg/apis/rbac/v1/evaluation_helpers.go
"""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from itertools import product
from typing import NamedTuple

from kubetypes.light_dataclasses import dataclass

ANY = "*"
READS = ("get", "list", "watch")
_ORDER = (*READS, "create", "update", "patch", "delete", "deletecollection")
VERBS = (*_ORDER, "approve", "attest", "bind", "escalate", "impersonate", "sign", "use", ANY)
"""Those that Kubernetes itself asks for, and the one that stands for all."""


class Reason(NamedTuple):
    """Who needs a right, `hook pod-labels.sh`, and for what: `binding 'pods'`."""

    who: str
    why: str


class AccessRequest(NamedTuple):
    """What an authorizer is asked. `resource` has its subresource: `pods/log`. A request that is about no resource
    has only a `verb`, which is the HTTP method in lowercase, and its `url`."""

    verb: str
    group: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Right:
    """`groups`, `resources` (with their subresource), `verbs`, `names` (none: any) and `urls` are those of a rule in
    RBAC, where either resources or urls are set. `namespace` is the one in which it counts; empty: everywhere."""

    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()
    namespace: str = ""
    urls: tuple[str, ...] = ()
    needs: tuple[Reason, ...] = ()

    def covers(self, request: AccessRequest) -> bool:
        """Does the right allow this request?"""
        if not _holds(self.verbs, request.verb):
            return False
        if request.url:
            return not self.namespace and any(_is_url_of(pattern, request.url) for pattern in self.urls)
        return (
            self.namespace in ("", request.namespace)
            and _holds(self.groups, request.group)
            and any(item in self.resources for item in _resources_that_mean(request.resource))
            and (not self.names or request.name in self.names)
        )

    def in_namespaces(self, namespaces: Iterable[str]) -> "tuple[Right, ...]":
        """The same right in each of these; everywhere without any."""
        return tuple(replace(self, namespace=namespace) for namespace in namespaces) or (replace(self, namespace=""),)


def _holds(allowed: tuple[str, ...], word: str) -> bool:
    return word in allowed or ANY in allowed


def _resources_that_mean(resource: str) -> tuple[str, ...]:
    _, slash, subresource = resource.partition("/")
    return (ANY, f"{ANY}/{subresource}", resource) if slash else (ANY, resource)


def _is_url_of(pattern: str, url: str) -> bool:
    return url.startswith(pattern[:-1]) if pattern.endswith(ANY) else url == pattern


class _Grant(NamedTuple):
    """The smallest right: one verb on one resource, of one name or any."""

    namespace: str
    group: str
    resource: str
    name: str
    url: str
    verb: str


def merge(rights: Iterable[Right]) -> tuple[Right, ...]:
    """The same rights, with no part of one in another: each is about one resource, in the order in which resources
    first appear. What needed a part that another right covers is among the needs of that one."""
    grants = _without_covered(_needs_by_grant(rights))
    verbs: dict[_Grant, list[_Grant]] = {}
    for grant in grants:
        verbs.setdefault(grant._replace(verb=""), []).append(grant)
    names: dict[Hashable, list[_Grant]] = {}
    for grant, same in verbs.items():
        allowed = frozenset(item.verb for item in same)
        alike = grant._replace(name="", url=""), allowed, bool(grant.name), bool(grant.url)
        names.setdefault(alike, []).extend(same)
    return tuple(_to_right(same, grants) for same in names.values())


def _needs_by_grant(rights: Iterable[Right]) -> dict[_Grant, dict[Reason, None]]:
    grants: dict[_Grant, dict[Reason, None]] = {}
    for right in rights:
        for grant in _grants_of(right):
            grants.setdefault(grant, {}).update(dict.fromkeys(right.needs))
    return grants


def _grants_of(right: Right) -> Iterator[_Grant]:
    for url, verb in product(right.urls, right.verbs):
        yield _Grant("", "", "", "", url, verb)
    for group, resource, name, verb in product(right.groups, right.resources, right.names or ("",), right.verbs):
        yield _Grant(right.namespace, group, resource, name, "", verb)


def _without_covered(grants: dict[_Grant, dict[Reason, None]]) -> dict[_Grant, dict[Reason, None]]:
    kept: dict[_Grant, dict[Reason, None]] = {}
    for grant, needs in grants.items():
        kept.setdefault(next(wider for wider in _widest_first(grant) if wider in grants), {}).update(needs)
    return kept


def _widest_first(grant: _Grant) -> Iterator[_Grant]:
    """All grants that cover this one; the last is itself."""
    if grant.url:
        return (grant._replace(verb=verb) for verb in (ANY, grant.verb))
    groups, verbs = (ANY, grant.group), (ANY, grant.verb)
    parts = product(("", grant.namespace), groups, _resources_that_mean(grant.resource), ("", grant.name), verbs)
    return (_Grant(place, group, resource, name, "", verb) for place, group, resource, name, verb in parts)


def _to_right(same: list[_Grant], needs: dict[_Grant, dict[Reason, None]]) -> Right:
    """Of grants that differ in verbs and names only, each verb with each name."""
    first = same[0]
    return Right(
        groups=() if first.url else (first.group,),
        resources=() if first.url else (first.resource,),
        verbs=tuple(sorted({grant.verb for grant in same}, key=_rank)),
        names=tuple(dict.fromkeys(grant.name for grant in same if grant.name)),
        namespace=first.namespace,
        urls=tuple(dict.fromkeys(grant.url for grant in same if grant.url)),
        needs=tuple(dict.fromkeys(need for grant in same for need in needs[grant])),
    )


def _rank(verb: str) -> tuple[int, str]:
    return _ORDER.index(verb) if verb in _ORDER else len(_ORDER), verb


def compact(rights: Iterable[Right]) -> tuple[Right, ...]:
    """The same rights in fewer rules: those that differ in their resources only become one, then those that differ in
    their groups only."""
    by_resource: dict[Hashable, list[Right]] = {}
    key: Hashable
    for right in rights:
        key = right.groups, right.verbs, right.names, right.namespace, bool(right.urls)
        by_resource.setdefault(key, []).append(right)
    by_group: dict[Hashable, list[Right]] = {}
    for right in map(_joined, by_resource.values()):
        key = frozenset(right.resources), right.verbs, right.names, right.namespace, bool(right.urls)
        by_group.setdefault(key, []).append(right)
    return tuple(map(_joined, by_group.values()))


def _joined(same: list[Right]) -> Right:
    return replace(
        same[0],
        groups=tuple(dict.fromkeys(group for right in same for group in right.groups)),
        resources=tuple(dict.fromkeys(resource for right in same for resource in right.resources)),
        urls=tuple(dict.fromkeys(url for right in same for url in right.urls)),
        needs=tuple(dict.fromkeys(need for right in same for need in right.needs)),
    )
