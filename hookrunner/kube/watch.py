"""The objects of a selection and every change of them, for as long as somebody asks.

    watches = Watches(client, discovery, metrics, idle=75.0)
    async with aclosing(watches.open(selection)) as story:
        async for reports in story: ...        # lists of the reports of `model/watching.py`

A story never ends and never raises a KubeError. Behind it: resolving the kind, a list (streamed or in pages), a watch
with bookmarks, resuming after a lost or silent connection, a new list when the server no longer has our version (410),
and back-off. It remembers one version, no objects; who listens finds out what a repeated list means.

Bookmarks come about once a minute, so a longer silence means a dead connection (user-pains.md R1); a silence is resumed
without a word and is `Lost` only if that fails. A 410 comes as a status or as an event (R2).
Source: https://kubernetes.io/docs/reference/using-api/api-concepts/
"""

import asyncio
import math
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from weakref import WeakSet

from hookrunner import log
from hookrunner.errors import (
    ApiError,
    Cut,
    Denied,
    Expired,
    KubeError,
    NotFound,
    Silent,
    Throttled,
    UnknownKind,
    Unreachable,
)
from hookrunner.kube import rights
from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.story import Story
from hookrunner.metrics.names import Metrics
from hookrunner.model.resources import Resource, Selection
from hookrunner.model.watching import Found, Listing, Lost, Report

_LOG = log.get("kube.watch")
_PAGE = "500"
_LIFETIME = (300, 600)
"""Seconds after which the server ends a watch; spread, so that not all come back at once."""

_FIRST_PAUSE, _LONGEST_PAUSE, _CHEAP_PAUSE = 0.1, 20.0, 4.0
"""Seconds between attempts: growing from the first to the longest, but to the last where to ask costs little: for a
kind that is not there, since a CRD usually comes with the addon that is being installed, and for a server that is not,
since everybody waits for its return."""

_SHORT, _STANDING = 1.0, 5.0
"""A watch that stood for so many seconds counts as one that works, even if nothing was to be said."""

_AGAIN_AFTER = 5.0
"""Seconds in which an API server has taken in that a CRD has changed."""

_STUBBORN = 3
"""After so many answers that led nowhere, begin again with a list: the version itself may be what is wrong."""

_METADATA = "application/json;as={};g=meta.k8s.io;v=v1,application/json"
"""Only `metadata` of each object; complete ones from a server that cannot leave the rest out.
Source: https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches"""

_NO_STREAMED_LIST = frozenset({400, 403, 405, 422})


class Watches:
    """Opens watches on one cluster. `idle` is the silence in seconds that no healthy watch has."""

    def __init__(self, client: Client, discovery: Discovery, metrics: Metrics, idle: float) -> None:
        self._client = client
        self._discovery = discovery
        self._metrics = metrics
        self._idle = idle
        self._open = WeakSet[_Watch]()

    def again(self, group: str, plural: str) -> None:
        """Let every open watch of a resource list its objects once more: the server has come to show them otherwise.

        Not at once, for it may still be at it, but at the first sign of life after a few seconds; it gives one every
        minute.
        """
        for watch in self._open:
            watch.again(group, plural)

    async def open(self, selection: Selection) -> AsyncGenerator[list[Report], None]:
        """The story of a selection, told from the beginning. Close it with `aclosing`."""
        watch = _Watch(selection, self._client, self._discovery, self._metrics, self._idle)
        self._open.add(watch)
        async with aclosing(watch.story()) as story:
            async for reports in story:
                if reports:
                    yield reports
                del reports  # or the last objects would live until the next change


class _Watch:
    """One selection's attempts. Of the current one, `_accepted` is the time at which the server began to tell, and
    `_otherwise` says that the next one will be made in another way."""

    def __init__(
        self, selection: Selection, client: Client, discovery: Discovery, metrics: Metrics, idle: float
    ) -> None:
        self._selection = selection
        self._client = client
        self._discovery = discovery
        self._metrics = metrics
        self._idle = idle
        self._story = Story()
        self._labels = ("", selection.namespace)
        self._page = _PAGE
        self._streams_lists = True
        self._attempts = 0
        self._accepted: float | None = None
        self._otherwise = False
        self._lost = ""
        self._polls = False
        self._resource: Resource | None = None
        self._again = math.inf

    def again(self, group: str, plural: str) -> None:
        """List once more, if it is this resource that is watched."""
        if self._resource and (self._resource.group, self._resource.plural) == (group, plural):
            self._again = _now() + _AGAIN_AFTER

    async def story(self) -> AsyncGenerator[list[Report], None]:
        """Attempt after attempt, for ever."""
        while True:
            self._story.heard, self._accepted, self._otherwise = False, None, False
            async with aclosing(self._attempt()) as attempt:
                async for reports in attempt:
                    yield reports
                    del reports

    async def _attempt(self) -> AsyncGenerator[list[Report], None]:
        """One attempt, what is learned if it fails, and the pause after it."""
        problem: KubeError | None = None
        try:
            async with aclosing(self._told()) as told:
                async for reports in told:
                    yield reports
                    del reports
        except KubeError as error:
            problem = error
        if problem is not None:
            polled = self._is_polled(problem)
            self._learn(problem)
            yield self._polled(problem) if polled else self._news(problem)
        await self._pause(problem)

    async def _told(self) -> AsyncGenerator[list[Report], None]:
        """A list if one is needed, then a watch until it ends."""
        resource = await self._discovery.resolve(self._selection.api_version, self._selection.kind)
        self._resource = resource
        self._labels = (f"{resource.api_version}/{resource.plural}", self._selection.namespace)
        steps = [self._followed(resource)]
        if self._story.version is None and not self._streams_lists:
            steps.insert(0, self._paged(resource))
        for step in steps:
            async with aclosing(step):
                async for reports in step:
                    yield reports
                    del reports

    async def _paged(self, resource: Resource) -> AsyncGenerator[list[Report], None]:
        """The whole list, page by page, all of the same version; one parsed page at a time."""
        path = resource.path(self._selection.namespace)
        params = self._selectors() | {"limit": self._page}
        reports: list[Report] = [self._begin_list()]
        while self._story.version is None:
            page = await self._client.get(path, params, self._accept("PartialObjectMetadataList"))
            params["continue"] = page["metadata"].get("continue", "")
            reports += self._story.page(resource, page)
            del page
            yield reports
            reports = []

    async def _followed(self, resource: Resource) -> AsyncGenerator[list[Report], None]:
        """A watch from the last version, or one that begins with a list. Its first empty chunk means: accepted."""
        path = resource.path(self._selection.namespace)
        accept = self._accept("PartialObjectMetadata")
        async with aclosing(self._client.stream(path, self._watch_params(), self._idle, accept)) as chunks:
            async for lines in chunks:
                reports, error = self._story.chunk(resource.kind, lines) if lines else (self._opened(), None)
                yield reports
                del reports
                if error is not None:
                    raise error
                if _now() > self._again:
                    self._again, self._story.version = math.inf, None
                    return
        self._metrics.kubernetes_client_watch_errors.inc("eof")
        if not self._worked():
            raise Cut(f"watch of {self._selection}: closed at once by the server, or by something in between")

    def _opened(self) -> list[Report]:
        reports: list[Report] = [Found()] if self._lost else []
        if self._lost:
            _LOG.info("watch is back", selection=str(self._selection))
        self._accepted, self._lost, self._polls = _now(), "", False
        return reports + ([self._begin_list()] if self._story.version is None else [])

    def _worked(self) -> bool:
        """Did the current attempt lead to a watch that was good for something?"""
        return self._story.heard or (self._accepted is not None and _now() - self._accepted > _STANDING)

    def _begin_list(self) -> Listing:
        if self._story.lists:
            self._metrics.kubernetes_watch_relists.inc(*self._labels)
        return Listing()

    def _watch_params(self) -> dict[str, str]:
        params = self._selectors() | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(random.randint(*_LIFETIME)),
        }
        if self._story.version is None:
            return params | {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        return params | ({"resourceVersion": self._story.version} if self._story.version else {})

    def _accept(self, metadata: str) -> str:
        return _METADATA.format(metadata) if self._selection.metadata_only else "application/json"

    def _selectors(self) -> dict[str, str]:
        wanted = {"labelSelector": self._selection.labels, "fieldSelector": self._selection.fields}
        return {name: value for name, value in wanted.items() if value}

    def _learn(self, error: KubeError) -> None:
        """Count a failure and draw conclusions for the next attempt."""
        self._metrics.kubernetes_client_watch_errors.inc(_error_type(error))
        if isinstance(error, Silent):
            self._metrics.kubernetes_watch_stalls.inc(*self._labels)
        if isinstance(error, NotFound):
            self._discovery.forget(self._selection.api_version)
        accepted = self._accepted is not None
        if self._story.version is None:
            self._learn_to_list(error)
        elif _refused(error) or (self._attempts >= _STUBBORN and (accepted or _is_internal(error))):
            self._story.version = None

    def _learn_to_list(self, error: KubeError) -> None:
        if isinstance(error, Expired):
            self._page = "0"  # the list outlived its version, so pages are too slow here: take it whole
        refused = isinstance(error, ApiError) and error.status in _NO_STREAMED_LIST
        if self._streams_lists and (refused or isinstance(error, Silent)):
            self._streams_lists, self._otherwise = False, True

    def _is_polled(self, error: KubeError) -> bool:
        """Was a list read that may not be followed by a watch?"""
        return self._story.version is not None and self._accepted is None and rights.is_forbidden(error)

    def _polled(self, error: KubeError) -> list[Report]:
        """Without a right to watch, the list is read again after each pause: late, but not lost."""
        if not self._polls:
            reason = self._explained(error, "watch")
            _LOG.warn("no right to watch, listing now and then instead", selection=str(self._selection), error=reason)
        reports: list[Report] = [Found()] if self._lost else []
        self._polls, self._lost = True, ""
        return reports

    def _news(self, error: KubeError) -> list[Report]:
        """A loss that was not told yet. A watch that stops is none before an attempt to resume it has failed."""
        first = self._accepted is not None and not self._attempts
        resumable = first or self._worked() or self._otherwise or isinstance(error, Expired)
        if resumable or self._lost == str(error):
            return []
        self._lost = str(error)
        error = self._explained(error, "list and watch")
        _LOG.warn("watch is lost", selection=str(self._selection), error=error)
        return [_loss(error)]

    def _explained(self, error: KubeError, verbs: str) -> KubeError:
        """A missing right is told with everything that a watch needs."""
        if not (isinstance(error, Denied) and self._resource):
            return error
        plural = self._resource.plural
        return rights.explained(error, f"{verbs} {plural}", rights.rule(self._resource, ["list", "watch"]))

    async def _pause(self, error: KubeError | None) -> None:
        """Longer after each attempt that came to nothing; a moment between lists and after a very short watch."""
        self._attempts = 0 if self._worked() or self._otherwise else self._attempts + 1
        if isinstance(error, Expired) or (self._story.heard and _now() - (self._accepted or 0) < _SHORT):
            self._attempts = max(self._attempts, 1)
        if not self._attempts:
            return
        longest = _CHEAP_PAUSE if _is_cheap(error) else _LONGEST_PAUSE
        pause = min(_FIRST_PAUSE * 2 ** min(self._attempts - 1, 10), longest) * random.uniform(0.75, 1.25)
        asked = error.retry_after if isinstance(error, ApiError) else None
        await asyncio.sleep(max(pause, asked or 0))


def _now() -> float:
    return asyncio.get_running_loop().time()


def _is_cheap(error: KubeError | None) -> bool:
    """Does another attempt cost the server next to nothing?"""
    return isinstance(error, UnknownKind) or type(error) is Unreachable


def _refused(error: KubeError) -> bool:
    """Will the same watch be refused again? Credentials may be renewed, and a pause may be over."""
    passing = isinstance(error, Throttled) or (isinstance(error, Denied) and not rights.is_forbidden(error))
    return isinstance(error, ApiError) and 400 <= error.status < 500 and not passing


def _is_internal(error: KubeError) -> bool:
    """500 is the API server's own trouble, with our version perhaps; 502 to 504 are about reaching it."""
    return isinstance(error, ApiError) and error.status == 500


def _loss(error: KubeError) -> Lost:
    """Short, unless a person has to act: install a CRD, give rights, correct a selector."""
    return Lost(str(error), error.brief)


def _error_type(error: KubeError) -> str:
    """The words of shell-operator.md §4.5, and `stall`."""
    match error:
        case Expired():
            return "expired"
        case Silent():
            return "stall"
        case Cut():
            return "unexpected-eof"
    return "fail"
