"""What the cluster serves: which resource a user means by an apiVersion and a kind, and capabilities for charts.

    resource = await discovery.resolve("apps/v1", "deploy")

With an apiVersion only that group version is asked for; without, all groups, in one request where the server offers
aggregated discovery (Kubernetes 1.27, https://kubernetes.io/docs/concepts/overview/kubernetes-api/), otherwise group by
group. Groups that cannot be asked, because an aggregated API server is away, are left out. Answers are kept in memory.
An unknown kind is looked for once more on the server, but at most once a second for all callers. The error then names
what is served instead, for which all groups are asked, at most once a minute.

Capabilities are read once, and again when a CustomResourceDefinition or an APIService was changed.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import field

from hookrunner import log
from hookrunner.errors import ApiError, KubeError, NotFound, UnknownKind
from hookrunner.kube import refusals
from hookrunner.kube.client import Client
from hookrunner.kube.informer import Opener
from hookrunner.model.events import ObjectSeen, Report, Synced, WatchRestored
from hookrunner.model.releases import Capabilities
from hookrunner.model.resources import Resource, Selection, find_named, hint_kind, hint_other_group, is_kubernetes_group
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_log = log.get(__name__)
_AGGREGATED = ",".join(
    [f"application/json;g=apidiscovery.k8s.io;v={v};as=APIGroupDiscoveryList" for v in ("v2", "v2beta1")]
    + ["application/json"]
)
_FRESH = 1.0
_FRESH_FOR_HINTS = 60.0

_SOURCES = (
    Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", False),
    Resource("apiregistration.k8s.io/v1", "APIService", "apiservices", False),
)
_SETTLED = 0.5
"""Seconds without a change after which the API server serves what was created: it applies CRDs with a delay."""

_UNSEEN = 60.0
"""Seconds between two reads without the right to list CRDs or APIServices, so that no watch reports changes."""


@dataclass(slots=True)
class _Answer:
    """The server's answer about one apiVersion ("" is all of them), its loop time, and the groups that it lacks."""

    resources: tuple[Resource, ...] = ()
    missing: tuple[str, ...] = ()
    asked_at: float = float("-inf")
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)


class Discovery:
    """The kinds of one cluster."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._answers: dict[str, _Answer] = {}

    async def resolve(self, api_version: str, kind: str, exact: bool = False) -> Resource:
        """The first resource with verbs whose kind, plural or short name is `kind` in any case; with `exact`, as in a
        manifest, where case counts and other names do not.

        An empty `api_version` means the preferred version. Raises UnknownKind, which names what is served instead, or
        another KubeError if the server cannot be asked.
        """
        answer = self._answers.setdefault(api_version, _Answer())
        known = answer.asked_at
        if not _choose(answer.resources, kind, exact):
            await self._ask(api_version, answer, known)
        resource = _choose(answer.resources, kind, exact)
        if resource is None:
            raise UnknownKind(await self._complaint(api_version, kind, answer))
        return resource

    async def read_all(self) -> tuple[tuple[Resource, ...], tuple[str, ...]]:
        """Every resource in the version that its group prefers, and the group versions that did not answer; asked
        again. Raises KubeError."""
        core, groups = await asyncio.gather(*(self._client.get(p, accept=_AGGREGATED) for p in ("/api", "/apis")))
        if groups["kind"] == "APIGroupDiscoveryList":
            return _aggregated(core["items"] + groups["items"])
        listed = [{"name": "", "versions": [{"groupVersion": v} for v in core["versions"]]}, *groups["groups"]]
        return await self._group_by_group([_by_preference(group) for group in listed])

    def forget(self, api_version: str) -> None:
        """Ask again next time, because the server answered 404 for a resource of this version."""
        answer = self._answers.get(api_version, _Answer())
        if asyncio.get_running_loop().time() - answer.asked_at >= _FRESH:
            self._answers.pop(api_version, None)

    def renew(self, api_version: str) -> None:
        """Ask again next time, however fresh the answer is: a definition of this version is served since just now."""
        self._answers.pop(api_version, None)

    async def _ask(self, api_version: str, answer: _Answer, known: float) -> None:
        """Fill the answer, unless another caller has just done so, also while we waited for our turn."""
        now = asyncio.get_running_loop().time
        async with answer.asking:
            if answer.asked_at > known or now() - answer.asked_at < _FRESH:
                return
            if api_version:
                answer.resources = await self._one(api_version)
            else:
                answer.resources, answer.missing = await self.read_all()
            answer.asked_at = now()

    async def _complaint(self, api_version: str, kind: str, answer: _Answer) -> str:
        """The message for an unknown kind: what is served instead, or what to do."""
        served, missing = (*answer.resources, *await self._preferred_kinds()), answer.missing
        where = f"apiVersion '{api_version}'" if api_version else "any preferred apiVersion"
        what = f"the server knows no kind '{kind}' in {where}: "
        away = f" These API groups did not answer: {', '.join(missing)}." if missing else ""
        if hint := hint_kind(api_version, kind, served):
            return f"{what}{hint}{away}"
        if api_version and is_kubernetes_group(api_version.rpartition("/")[0]):
            return f"{what}Kubernetes has none of this name, or has it no longer{away}"
        other = hint_other_group(api_version, kind, served)
        meant = f" ({other}, if that was meant)" if other else ""
        return f"{what}is its CustomResourceDefinition installed, and is the version served?{meant}{away}"

    async def _preferred_kinds(self) -> tuple[Resource, ...]:
        """All kinds, at most a minute old; none if the server cannot be asked."""
        answer = self._answers.setdefault("", _Answer())
        if asyncio.get_running_loop().time() - answer.asked_at >= _FRESH_FOR_HINTS:
            with suppress(KubeError):
                await self._ask("", answer, answer.asked_at)
        return answer.resources

    async def _one(self, api_version: str) -> tuple[Resource, ...]:
        return tuple(_listed(api_version, await read_entries(self._client, api_version)))

    async def _group_by_group(self, groups: list[list[str]]) -> tuple[tuple[Resource, ...], tuple[str, ...]]:
        """For servers without aggregated discovery."""
        versions = [version for group in groups for version in group]
        answers = await asyncio.gather(*(self._one(version) for version in versions), return_exceptions=True)
        missing = []
        by_version: dict[str, tuple[Resource, ...]] = {}
        for version, answer in zip(versions, answers, strict=True):
            if isinstance(answer, KubeError):
                _log.warn("an API group cannot be asked for its kinds", group=version, error=answer)
                missing.append(version)
            elif isinstance(answer, BaseException):
                raise answer
            else:
                by_version[version] = answer
        if not by_version:
            raise ApiError(503, "", "discovery: no API group answered")
        chosen = (_preferred([by_version.get(version, ()) for version in group]) for group in groups)
        return tuple(resource for group in chosen for resource in group), tuple(missing)


def _choose(resources: Iterable[Resource], kind: str, exact: bool) -> Resource | None:
    spelled = (resource for resource in resources if resource.verbs and resource.kind == kind)
    return next(spelled if exact else iter(find_named(resources, kind)), None)


def _by_preference(group: JSON) -> list[str]:
    """The group versions of an APIGroup, the preferred one first."""
    versions = [version["groupVersion"] for version in group["versions"]]
    first = group.get("preferredVersion", {}).get("groupVersion")
    return sorted(versions, key=lambda version: version != first)


def _preferred(versions: Sequence[Iterable[Resource]]) -> Iterable[Resource]:
    """Each resource of a group in the first version that has it; versions come in order of preference."""
    chosen: dict[str, Resource] = {}
    for resources in versions:
        for resource in resources:
            chosen.setdefault(resource.plural, resource)
    return chosen.values()


def _aggregated(groups: Sequence[JSON]) -> tuple[tuple[Resource, ...], tuple[str, ...]]:
    """The content of an APIGroupDiscoveryList, whose versions are in order of preference."""
    resources: list[Resource] = []
    missing: list[str] = []
    for group in groups:
        name = group["metadata"].get("name", "")
        versions = [(f"{name}/{v['version']}" if name else v["version"], v) for v in group["versions"]]
        missing += [api_version for api_version, v in versions if v.get("freshness") == "Stale"]
        resources += _preferred([[_from_aggregated(gv, r) for r in v.get("resources", ())] for gv, v in versions])
    return tuple(resources), tuple(missing)


def _from_aggregated(api_version: str, item: JSON) -> Resource:
    kind = item.get("responseKind", {}).get("kind", "")
    return _resource(api_version, kind, item["resource"], item["scope"] == "Namespaced", item)


def _listed(api_version: str, entries: Iterable[JSON]) -> Iterable[Resource]:
    """The content of an APIResourceList without subresources. `api_version` is the one that was asked for: the list is
    of that, whatever an aggregated server says."""
    for item in entries:
        if "/" not in item["name"]:
            yield _resource(api_version, item["kind"], item["name"], item["namespaced"], item)


def _resource(api_version: str, kind: str, plural: str, namespaced: bool, item: JSON) -> Resource:
    """With what both kinds of answers write alike."""
    names, verbs = tuple(item.get("shortNames", ())), tuple(item.get("verbs", ()))
    return Resource(api_version, kind, plural, namespaced, short_names=names, verbs=verbs)


async def read_entries(client: Client, api_version: str) -> list[JSON]:
    """Read the entries of an APIResourceList; none if the version is not served. Raises KubeError."""
    root = "/apis/" if "/" in api_version else "/api/"
    try:
        entries: list[JSON] = (await client.get(root + api_version))["resources"]
    except NotFound:
        return []
    return entries


async def may_list(client: Client, path: str, selector: str = "") -> bool:
    """Ask whether we have the right to list; False only if the server refuses. The watch reports other errors."""
    try:
        await client.get(path, {"limit": "1"} | ({"labelSelector": selector} if selector else {}))
    except KubeError as error:
        return not refusals.is_forbidden(error)
    return True


class ClusterCapabilities:
    """What the cluster serves, cached. `changes` yields when that changes."""

    def __init__(self, client: Client, watches: Opener) -> None:
        self._client = client
        self._watches = watches
        self._last: Capabilities | None = None
        self._reported: Capabilities | None = None
        self._generation = 0
        self._read_generation = 0
        self._reading = asyncio.Lock()
        self._stale = asyncio.Event()

    async def get(self) -> Capabilities:
        """What is served now. Raises KubeError."""
        async with self._reading:
            if self._last is None or self._read_generation != self._generation:
                generation = self._generation
                self._last = await read_capabilities(self._client)
                self._read_generation, self._reported = generation, self._reported or self._last
            return self._last

    def forget(self) -> None:
        """Read again next time, because definitions were just applied."""
        self._generation += 1

    async def follow(self, index: int) -> None:
        """Watch the CRDs (0) or the APIServices (1), until cancelled; returns if the cluster does not serve them."""
        source = _SOURCES[index]
        with suppress(KubeError):
            if source.api_version not in (await self.get()).api_versions:
                return
        while not await may_list(self._client, source.path()):
            await asyncio.sleep(_UNSEEN)
            self._invalidate()
        selection = Selection(source.api_version, source.kind, metadata_only=True)
        async with aclosing(self._watches.open(selection)) as batches:
            async for reports in batches:
                # Only the list shows what was created between the first read and the list.
                if any(map(_is_news, reports)) or (WatchRestored() in reports and await self._has_new_version()):
                    self._invalidate()

    async def _has_new_version(self) -> bool:
        """Has the API server come back with another version? If not, what it serves is not read again: it may not list
        all of it yet."""
        try:
            version = (await self._client.get("/version"))["gitVersion"]
        except KubeError:
            return True
        return self._last is None or version != self._last.kube_version

    def _invalidate(self) -> None:
        self.forget()
        self._stale.set()

    async def changes(self) -> AsyncIterator[Capabilities]:
        """Yield what the cluster served before, each time that it serves something else or has another version. Nothing
        tells of a version, but the API server that is upgraded breaks its watches."""
        while True:
            await self._stale.wait()
            while self._stale.is_set():
                self._stale.clear()
                await asyncio.sleep(_SETTLED)
            try:
                served = await self.get()
            except KubeError:
                self._stale.set()
                continue
            if self._reported and served != self._reported:
                before, self._reported = self._reported, served
                yield before


async def read_capabilities(client: Client) -> Capabilities:
    """What the cluster serves now; versions `group/version` and `group/version/Kind`, sorted. Raises KubeError."""
    version, core, groups = await asyncio.gather(
        client.get("/version"), _versions_and_kinds(client, "/api"), _versions_and_kinds(client, "/apis")
    )
    return Capabilities(version["gitVersion"], tuple(sorted(set(core) | set(groups))))


async def _versions_and_kinds(client: Client, root: str) -> list[str]:
    answer = await client.get(root, accept=_AGGREGATED)
    if answer["kind"] == "APIGroupDiscoveryList":
        return [name for group in answer["items"] for name in _names_in(group)]
    versions = answer.get("versions") or [
        version for group in answer.get("groups", ()) for version in group["versions"]
    ]
    names = [version if isinstance(version, str) else version["groupVersion"] for version in versions]
    lists = await asyncio.gather(*(client.get(f"{root}/{name}") for name in names))
    kinds = [f"{entry['groupVersion']}/{resource['kind']}" for entry in lists for resource in entry["resources"]]
    return [*names, *kinds]


def _names_in(group: JSON) -> Iterator[str]:
    """The versions of one group and the kinds in each."""
    name = group["metadata"].get("name", "")
    for version in group["versions"]:
        api_version = f"{name}/{version['version']}" if name else version["version"]
        yield api_version
        resources = version.get("resources", ())
        parts = (part for resource in resources for part in (resource, *resource.get("subresources", ())))
        kinds = (part.get("responseKind", {}).get("kind") for part in parts)
        yield from (f"{api_version}/{kind}" for kind in kinds if kind)


def _is_news(report: Report) -> bool:
    """May the report mean a change? Objects in a list do not; the end of the list does."""
    return isinstance(report, Synced) or (isinstance(report, ObjectSeen) and report.change is not None)
