"""Asks the API server, as an account, whether it may do all that a release takes, before anything is written.

    await AccountRights(client, kinds, options).require(objects, helm_hooks, identity, before)

A dry run is not enough: it skips what needs another object of the manifest first, and it deletes nothing. So for each
kind and namespace the account is asked for `get`, `create`, `patch` and `delete`; only where it lacks one of these for
all objects it is asked for those with the names that the release has. What a role grants, quotas and webhooks are left
to the dry run, which follows.

Source: https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from hookrunner.errors import NotFound, ReleaseFailed, UnknownKind
from hookrunner.kube.client import Client
from hookrunner.kube.rights_checks import is_allowed
from hookrunner.manifests.role_objects import to_line
from hookrunner.model.releases import ReleaseOptions
from hookrunner.model.resources import Resource
from hookrunner.model.rights import AccessRequest, Right, compact, merge
from hookrunner.releases.manifest_objects import NAMESPACE, KindResolver, ObjectId, ReleaseId, named_verbs, object_id
from hookrunner.releases.objects.stage_runner import OBJECTS_AT_ONCE
from kubetypes.json_values import JSON

_CREATE = "create"
_HOOK_VERBS = (_CREATE, "patch", "delete")

_Needed: TypeAlias = Mapping[tuple[Resource, str, str], set[str]]
"""The names of objects, by resource, namespace (empty for a kind without namespaces) and verb."""


class AccountRights:
    """The rights of the account of `options`; `client` acts as that account."""

    def __init__(self, client: Client, kinds: KindResolver, options: ReleaseOptions) -> None:
        self._client = client
        self._kinds = kinds
        self._options = options
        self._turn = asyncio.Semaphore(OBJECTS_AT_ONCE)

    async def require(
        self, objects: Iterable[JSON], helm_hooks: Iterable[JSON], identity: ReleaseId, before: Mapping[ObjectId, JSON]
    ) -> None:
        """Raise ReleaseFailed, with the rules to add, unless the account may write and delete the objects and the Helm
        hooks, and delete those objects of `before` that leave the release. Raises KubeError if it cannot be asked."""
        desired = {object_id(obj, identity): obj for obj in objects}
        hooks = {object_id(obj, identity): obj for obj in helm_hooks}
        self._kinds.learn(desired.values())
        needed = await self._by_kind([*self._verbs_of(desired, before), *((hook, _HOOK_VERBS) for hook in hooks)])
        missing = await asyncio.gather(*(self._find_missing(*about, names) for about, names in needed.items()))
        if rules := compact(merge(right for rights in missing for right in rights)):
            lines = ", ".join(f"{to_line(rule)} {_place(rule)}" for rule in rules)
            text = f"nothing was written, because {self._options.account} lacks rights; add to its roles: {lines}"
            raise ReleaseFailed(text, lacks_rights=True)

    def _verbs_of(
        self, desired: Mapping[ObjectId, JSON], before: Mapping[ObjectId, JSON]
    ) -> Iterator[tuple[ObjectId, tuple[str, ...]]]:
        kept_kinds = self._options.kept_kinds - {NAMESPACE}  # a namespace is deleted at the end, if it is empty
        for target, obj in desired.items():
            yield target, (_CREATE, *named_verbs(obj, kept_kinds))
        lasting = {target.lasting for target in desired}
        for target, obj in before.items():
            if target.lasting not in lasting:
                is_kept = "delete" not in named_verbs(obj, self._options.kept_kinds)
                yield target, ("get", "patch" if is_kept else "delete")

    async def _by_kind(self, verbs: Iterable[tuple[ObjectId, tuple[str, ...]]]) -> _Needed:
        """A kind that the cluster does not know is left to the write, which says so."""
        needed = defaultdict[tuple[Resource, str, str], set[str]](set)
        for target, wanted in verbs:
            try:
                resource = await self._kinds.resolve(target.api_version, target.kind)
            except UnknownKind:
                continue
            for verb in wanted:
                needed[resource, target.namespace if resource.namespaced else "", verb].add(target.name)
        return needed

    async def _find_missing(self, resource: Resource, namespace: str, verb: str, names: set[str]) -> list[Right]:
        """The right, without names: whether a role should have these is for a person to decide."""
        if await self._may(resource, namespace, verb):
            return []
        if verb != _CREATE:  # which cannot be limited to names
            allowed = [await self._may(resource, namespace, verb, name) for name in sorted(names)]
            if all(allowed):
                return []
        return [Right((resource.group,), (resource.plural,), (verb,), namespace=namespace)]

    async def _may(self, resource: Resource, namespace: str, verb: str, name: str = "") -> bool:
        async with self._turn:
            try:
                access = AccessRequest(verb, resource.group, resource.plural, namespace, name)
                return await is_allowed(self._client, access)
            except NotFound:  # the sandbox: a server without this API has no rights to ask for
                return True


def _place(rule: Right) -> str:
    return f"in namespace {rule.namespace}" if rule.namespace else "in the cluster"
