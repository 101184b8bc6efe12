"""The rights that a release needs: to create, apply and delete its objects and Helm hooks, to watch their kinds for
drift, and to grant what its roles grant.

    rights = release_rights(objects, Release("module web", "web"), kinds)

Each object is read, patched and deleted by its name and in its namespace; only `create` cannot be limited to names. A
namespace that the release itself creates has no Role when it begins: what is in it is allowed in all of them. The
name or namespace `*` of an object is one that is not known yet; the right keeps the namespace.

No client may grant more than it has, so a role needs its own rules: `escalate`, the other way, would allow to write any
rule into it, and so everything. A binding to a role of the same release then needs no more; to another role, whose
rules are unknown here, it needs `bind` on that role.
Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from hookrunner.model.rights import ANY, Reason, Right
from hookrunner.releases.manifest_objects import CRD, named_verbs
from hookrunner.rights.hook_rights import WATCH
from hookrunner.rights.kind_names import KindNames
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

APPLIED = "Helm hooks, whose first apply creates them"
"""The API server asks for `create` then, though the request is a `patch`."""
ENDED = "the end of Helm hooks"
DELAYED = "the end of Helm hooks, where finalizers delay it"
DRIFT = "drift of its objects"
PODS = "Pods of workloads that are not ready"
REQUIRED = "what it requires"
_WATCHED = frozenset({ENDED, DELAYED, DRIFT, PODS, REQUIRED})

_ENDING = frozenset({("batch", "Job"), ("", "Pod")})
_RBAC = "rbac.authorization.k8s.io"
_PLURALS = {"Role": "roles", "ClusterRole": "clusterroles"}
_WORKLOADS = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job")


@dataclass(frozen=True, slots=True)
class Release:
    """Who has it, and the namespace of objects that name none. Objects of `kept_kinds` (API group, kind) are never
    deleted with it. `created` are the namespaces that it creates."""

    who: str
    namespace: str
    kept_kinds: frozenset[tuple[str, str]] = frozenset()
    created: frozenset[str] = frozenset()

    def place_of(self, obj: JSON) -> str:
        """The namespace of rights on a namespaced object, empty for all."""
        namespace = str(obj["metadata"].get("namespace") or self.namespace)
        return "" if namespace in self.created else namespace

    def creating(self, objects: Iterable[JSON]) -> "Release":
        """The same release, which creates these objects."""
        names = (str(obj["metadata"]["name"]) for obj in objects if obj["kind"] == "Namespace")
        return replace(self, created=frozenset(names))

    def needs(self, why: str, rights: Iterable[Right]) -> Iterator[Right]:
        """The same rights, needed for it."""
        return (replace(right, needs=(Reason(self.who, why),)) for right in rights)


def release_rights(
    objects: Sequence[JSON], release: Release, kinds: KindNames, helm_hooks: Sequence[JSON] = ()
) -> Iterator[Right]:
    """The rights for the objects and the Helm hooks of a release."""
    kinds.learn(obj for obj in objects if obj["kind"] == CRD)
    release = release.creating((*objects, *helm_hooks))
    for obj in objects:
        yield from release.needs("objects of its release", _written(obj, release, kinds))
        yield from release.needs(DRIFT, [_watched(obj, kinds)])
    for obj in helm_hooks:
        yield from _hook_rights(obj, release, kinds)
    yield from granted_rights((*objects, *helm_hooks), release)


def watched_rights(rights: Iterable[Right]) -> list[Right]:
    """Of the rights for releases those that hookrunner needs itself where every instance names an account: that reads,
    writes and grants, hookrunner watches."""
    return [right for right in rights if all(need.why in _WATCHED for need in right.needs)]


def _written(obj: JSON, release: Release, kinds: KindNames) -> Iterator[Right]:
    """What an object needs by its name, and what it needs before it exists."""
    named = _named(obj, release, kinds, *named_verbs(obj, release.kept_kinds))
    yield named
    yield replace(named, verbs=("create",), names=())


def _named(obj: JSON, release: Release, kinds: KindNames, *verbs: str) -> Right:
    resource = kinds.of_object(obj)
    place = release.place_of(obj) if resource.namespaced else ""
    name = obj["metadata"].get("name", ANY)
    return Right((resource.group,), (resource.plural,), verbs, () if name == ANY else (name,), place)


def _hook_rights(obj: JSON, release: Release, kinds: KindNames) -> Iterator[Right]:
    """A Helm hook is applied without being read; its end is awaited by its name. A definition is never deleted."""
    patched = _named(obj, release, kinds, "patch")
    yield from release.needs("Helm hooks", [patched])
    yield from release.needs(APPLIED, [replace(patched, verbs=("create",), names=())])
    if obj["kind"] != CRD:
        ends = (patched.groups[0], obj["kind"]) in _ENDING
        yield from release.needs("Helm hooks", [replace(patched, verbs=("delete",))])
        yield from release.needs(ENDED if ends else DELAYED, [replace(patched, verbs=WATCH)])


def _watched(obj: JSON, kinds: KindNames) -> Right:
    """Drift is watched for all releases at once, by their common label."""
    resource = kinds.of_object(obj)
    return Right((resource.group,), (resource.plural,), WATCH)


def granted_rights(objects: Iterable[JSON], release: Release) -> Iterator[Right]:
    """What lets roles and bindings among these objects be written."""
    rbac = [obj for obj in objects if str(obj["apiVersion"]).startswith(f"{_RBAC}/")]
    own = {(obj["kind"], obj["metadata"]["name"]) for obj in rbac if obj["kind"] in _PLURALS}
    for obj in rbac:
        kind, name = obj["kind"], obj["metadata"]["name"]
        place = release.place_of(obj) if kind.startswith("Role") else ""
        if obj.get("aggregationRule"):
            why = f"{kind} {name} takes in other roles, which needs every right or this one"
            yield from release.needs(why, [Right((_RBAC,), (_PLURALS[kind],), ("escalate",), (name,))])
        elif kind in _PLURALS:
            why = f"{kind} {name} grants it, and no client may grant what it lacks"
            yield from release.needs(why, (_granted(rule, place) for rule in obj.get("rules") or ()))
        elif (role := (obj["roleRef"]["kind"], obj["roleRef"]["name"])) not in own:
            bind = Right((_RBAC,), (_PLURALS[role[0]],), ("bind",), (role[1],), place)
            yield from release.needs(f"{kind} {name} binds a role that is not its own", [bind])


def _granted(rule: JSON, namespace: str) -> Right:
    return Right(
        groups=tuple(rule.get("apiGroups") or ()),
        resources=tuple(rule.get("resources") or ()),
        verbs=tuple(rule["verbs"]),
        names=tuple(rule.get("resourceNames") or ()),
        namespace=namespace,
        urls=tuple(rule.get("nonResourceURLs") or ()),
    )


def health_rights(objects: Sequence[JSON], release: Release) -> Iterator[Right]:
    """The rights by which an instance of an addon names the Pods for which its workloads wait."""
    release = release.creating(objects)
    for obj in objects:
        if obj["kind"] in _WORKLOADS:
            rights = [Right(("",), ("pods",), ("list",), (), release.place_of(obj))]
            if obj["kind"] == "Deployment":
                rights.append(Right(("apps",), ("replicasets",), ("list",), (), release.place_of(obj)))
            yield from release.needs(PODS, rights)
