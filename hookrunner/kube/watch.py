"""The objects of a selection and every change of them, for as long as somebody asks.

    watches = Watches(client, discovery, metrics, idle=75.0)
    async with aclosing(watches.open(selection)) as story:
        async for reports in story: ...        # lists of the reports of `model/watching.py`

A story never ends and never raises a KubeError. Behind it: resolving the kind, a list (streamed or in pages), a watch
with bookmarks, resuming after a lost or silent connection, a new list when the server no longer has our version (410),
and pauses: its own after answers that led nowhere (`back_off.py`), those of all watches together while the server is
away (`outage.py`). It remembers one version, no objects; who listens finds out what a repeated list means.

Bookmarks come about once a minute, so a longer silence means a dead connection (user-pains.md R1); a silence is resumed
without a word and is `Lost` only if that fails. A 410 comes as a status or as an event (R2), also after the server has
accepted the watch: so what was `Lost` is `Found` when a list is complete, or when a resumed watch has sent something or
was quiet for a moment.
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
)
from hookrunner.kube import rights
from hookrunner.kube.back_off import BackOff, moment
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
    """One selection's attempts. Of the current one, `_accepted` is the time at which the server began to tell, `_lists`
    the number of complete lists before it, and `_otherwise` says that the next one will be made in another way."""

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
        self._back_off = BackOff()
        self._accepted: float | None = None
        self._otherwise = False
        self._lists = 0
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
            self._lists = self._story.lists
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
            if polled:
                self._poll(problem)
            else:
                yield self._news(problem)
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
            yield reports + self._restored()
            reports = []

    async def _followed(self, resource: Resource) -> AsyncGenerator[list[Report], None]:
        """A watch from the last version, or one that begins with a list. Its first empty chunk means: accepted; a
        second one: and not refused by its first event."""
        path = resource.path(self._selection.namespace)
        accept = self._accept("PartialObjectMetadata")
        async with aclosing(self._client.stream(path, self._watch_params(), self._idle, accept)) as chunks:
            async for lines in chunks:
                reports, error = self._heard(resource.kind, lines)
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

    def _heard(self, kind: str, lines: list[bytes]) -> tuple[list[Report], KubeError | None]:
        """Reports of a chunk, and the error that it ended with."""
        if self._accepted is None:
            return self._opened(), None
        reports, error = self._story.chunk(kind, lines)
        return reports + (self._restored() if error is None else []), error

    def _opened(self) -> list[Report]:
        self._accepted, self._polls = _now(), False
        self._back_off.note_acceptance()
        return [self._begin_list()] if self._story.version is None else []

    def _restored(self) -> list[Report]:
        """The end of a loss, once what is known is up to date: never in the middle of a list."""
        if not self._lost or self._story.version is None:
            return []
        _LOG.info("watch restored", selection=str(self._selection))
        self._lost = ""
        return [Found()]

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
        if self._client.outage.is_under_way:
            return  # a server that starts refuses everything for a moment
        accepted = self._accepted is not None
        stubborn = self._back_off.failures(error, accepted) >= _STUBBORN
        if self._story.version is None:
            self._learn_to_list(error)
        elif _refused(error) or (stubborn and (accepted or _is_internal(error))):
            self._story.version = None

    def _learn_to_list(self, error: KubeError) -> None:
        if isinstance(error, Expired):
            self._page = "0"  # the list outlived its version, so pages are too slow here: take it whole
        refused = isinstance(error, ApiError) and error.status in _NO_STREAMED_LIST
        if self._streams_lists and (refused or isinstance(error, Silent)):
            self._streams_lists, self._otherwise = False, True

    def _is_polled(self, error: KubeError) -> bool:
        """Was a list read just now that may not be followed by a watch?"""
        return self._story.lists > self._lists and self._accepted is None and rights.is_forbidden(error)

    def _poll(self, error: KubeError) -> None:
        """Without a right to watch, the list is read again after each pause: late, but not lost."""
        if not self._polls:
            reason = self._explained(error, "watch")
            _LOG.warn("no right to watch, listing now and then instead", selection=str(self._selection), error=reason)
        self._polls = True

    def _news(self, error: KubeError) -> list[Report]:
        """A loss that was not told yet. A watch that stops is none before an attempt to resume it has failed."""
        first = self._accepted is not None and not self._back_off
        resumable = first or self._worked() or self._otherwise or isinstance(error, Expired)
        if resumable or self._lost == str(error):
            return []
        self._lost = str(error)
        error = self._explained(error, "list and watch")
        _LOG.warn("watch lost", selection=str(self._selection), error=error)
        return [_loss(error)]

    def _explained(self, error: KubeError, verbs: str) -> KubeError:
        """A missing right is reported with all verbs that a watch needs."""
        if not (isinstance(error, Denied) and self._resource):
            return error
        plural = self._resource.plural
        return rights.explained(error, f"{verbs} {plural}", rights.rule(self._resource, ["list", "watch"]))

    async def _pause(self, error: KubeError | None) -> None:
        """Longer after each failure of a kind; a moment between lists and after a very short watch."""
        if self._worked() or self._otherwise:
            self._back_off.reset()
            if isinstance(error, Expired) or (self._story.heard and _now() - (self._accepted or 0) < _SHORT):
                await asyncio.sleep(moment())
        elif error is not None:
            pause = self._back_off.pause(error, self._accepted is not None)
            asked = error.retry_after if isinstance(error, ApiError) else None
            await (asyncio.sleep(max(pause, asked)) if asked else self._client.outage.turn(pause))


def _now() -> float:
    return asyncio.get_running_loop().time()


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
