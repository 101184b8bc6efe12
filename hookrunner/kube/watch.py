"""The objects of a selection and every change of them, until the reader closes the watch.

    watches = Watches(client, discovery, metrics, idle=75.0)
    async with aclosing(watches.open(selection)) as batches:
        async for reports in batches: ...        # lists of the reports of `model/events.py`

A watch never ends and never raises a KubeError. Behind it: resolving the kind, a list (streamed or in pages), a watch
with bookmarks, resuming after a lost or silent connection, a new list when the server no longer has our version (410),
and pauses (`back_off.py`): the watch's own after failed attempts, and those of all watches together while the server is
unreachable. A watch keeps one version and no objects; `informer.py` says what a repeated list means.

Bookmarks arrive about once a minute, so a longer silence means a dead connection. A silent watch is resumed without a
report; it is `WatchLost` only if that fails. A 410 comes as a status or as an event, also after the server has accepted
the watch. So a lost watch is `WatchRestored` when a list is complete, or when a resumed watch has sent something or was
quiet for a moment.
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
)
from hookrunner.kube import refusals
from hookrunner.kube.back_off import BackOff, jitter, moment
from hookrunner.kube.client import JSON_TYPE, METADATA, Client, get_list
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.watch_cursor import WatchCursor
from hookrunner.metrics.names import Metrics
from hookrunner.model.events import RelistStarted, Report, Synced, WatchLost, WatchRestored
from hookrunner.model.resources import Resource, Selection

_log = log.get(__name__)
_PAGE = "500"
_LIFETIME = (300, 600)
"""Seconds after which the server ends a watch; random, so that not all watches reconnect at once."""

_SHORT, _ESTABLISHED = 1.0, 5.0
"""Seconds. A watch that ended sooner than the first is resumed after a moment. One that lasted for the second counts as
working, even without an event."""

_RELIST_AFTER = 5.0
"""Seconds in which API servers apply that a CRD has changed."""

_LOOK_AGAIN = 60.0
"""Seconds between two looks for an optional kind that is not served."""

_STUBBORN = 3
"""After so many failures of one kind, begin again with a list: the version itself may be the cause."""

_NO_STREAMED_LIST = frozenset({400, 403, 405, 422})

_Batches = AsyncGenerator[list[Report], None]


class Watches:
    """Opens watches on one cluster. `idle`: seconds of silence after which a watch counts as dead."""

    def __init__(self, client: Client, discovery: Discovery, metrics: Metrics, idle: float) -> None:
        self._client = client
        self._discovery = discovery
        self._metrics = metrics
        self._idle = idle
        self._open = WeakSet[_Watch]()

    def open(self, selection: Selection) -> _Batches:
        """The reports of a selection in batches, beginning with a list. Close it with `aclosing`."""
        watch = _Watch(selection, self._client, self._discovery, self._metrics, self._idle)
        self._open.add(watch)
        return watch.run()

    def relist(self, group: str, plural: str) -> None:
        """Relist every open watch of this resource: the server now returns its objects in another shape (a CRD gained a
        conversion).

        Each watch waits for the next message from the server after `_RELIST_AFTER`, because API servers apply CRD
        changes with a delay; the server gives one every minute.
        """
        for watch in self._open:
            watch.relist(group, plural)


class _Watch:
    """One selection's attempts.

    Of the current attempt: `_accepted` is the loop time at which the server began to send, `_lists` the number of
    complete lists before it, and `_retries_differently` says that the next attempt will ask in another way.
    """

    def __init__(
        self, selection: Selection, client: Client, discovery: Discovery, metrics: Metrics, idle: float
    ) -> None:
        self._selection = selection
        self._client = client
        self._discovery = discovery
        self._metrics = metrics
        self._idle = idle
        self._cursor = WatchCursor()
        self._labels = ("", selection.namespace)
        self._page = _PAGE
        self._streams_lists = True
        self._back_off = BackOff()
        self._accepted: float | None = None
        self._retries_differently = False
        self._lists = 0
        self._lost = ""
        self._is_unserved = False
        self._polls = False
        self._resource: Resource | None = None
        self._relist_at = math.inf

    def relist(self, group: str, plural: str) -> None:
        """List once more, if this resource is watched."""
        if self._resource and (self._resource.group, self._resource.plural) == (group, plural):
            self._relist_at = _now() + _RELIST_AFTER

    async def run(self) -> _Batches:
        """Make attempts until the generator is closed. After a failed one, draw conclusions and pause."""
        while True:
            self._begin_attempt()
            problem: KubeError | None = None
            try:
                async with aclosing(self._attempt()) as attempt:
                    async for reports in attempt:
                        yield reports
                        del reports  # otherwise the last objects would stay in memory until the next change
            except KubeError as error:
                problem = error
            if problem is not None and (losses := self._fail(problem)):
                yield losses
            await self._pause(problem)

    def _begin_attempt(self) -> None:
        self._cursor.has_events, self._accepted, self._retries_differently = False, None, False
        self._lists = self._cursor.lists

    async def _attempt(self) -> _Batches:
        """A list in pages if one is needed and the watch cannot begin with it, then a watch until it ends.

        The list has the same version on all pages; one parsed page is kept at a time. The watch goes on from the last
        version, or begins with a list. Its first empty chunk means: accepted; a second one: and not refused by its
        first event.
        """
        resource = await self._resolve()
        if self._cursor.version is None and not self._streams_lists:
            params, reports = self._selectors() | {"limit": self._page}, list[Report]([self._begin_list()])
            while self._cursor.version is None:
                reports += await self._read_page(resource, params)
                yield reports + self._restored()
                reports = []
        async with aclosing(self._open_stream(resource)) as chunks:
            async for lines in chunks:
                reports, error = self._read(resource.kind, lines)
                del lines
                if reports:
                    yield reports
                del reports
                if error is not None:
                    raise error
                if self._must_relist():
                    return
        self._metrics.kubernetes_client_watch_errors.inc("eof")
        if not self._has_worked():
            raise Cut(f"watch of {self._selection}: closed at once by the server, or by something in between")

    async def _resolve(self) -> Resource:
        self._resource = await self._discovery.resolve(self._selection.api_version, self._selection.kind)
        self._labels = (f"{self._resource.api_version}/{self._resource.plural}", self._selection.namespace)
        return self._resource

    async def _read_page(self, resource: Resource, params: dict[str, str]) -> list[Report]:
        """Read the next page of a list, and change `params` to those of the page after it."""
        path, metadata_only = resource.path(self._selection.namespace), self._selection.metadata_only
        page = await get_list(self._client, path, params, metadata_only=metadata_only)
        params["continue"] = page["metadata"].get("continue", "")
        return self._cursor.read_page(resource, page)

    def _open_stream(self, resource: Resource) -> AsyncGenerator[list[bytes], None]:
        accept = METADATA if self._selection.metadata_only else JSON_TYPE
        return self._client.stream(resource.path(self._selection.namespace), self._watch_params(), self._idle, accept)

    def _must_relist(self) -> bool:
        """Has the time of a `relist` come? Then the next attempt begins with a list."""
        if _now() <= self._relist_at:
            return False
        self._relist_at, self._cursor.version = math.inf, None
        return True

    def _read(self, kind: str, lines: list[bytes]) -> tuple[list[Report], KubeError | None]:
        """The reports of a chunk, and the error that it ended with."""
        if self._accepted is None:
            return self._accept_watch(), None
        reports, error = self._cursor.read_lines(kind, lines)
        return reports + (self._restored() if error is None else []), error

    def _accept_watch(self) -> list[Report]:
        self._accepted, self._polls = _now(), False
        self._back_off.note_acceptance()
        return [self._begin_list()] if self._cursor.version is None else []

    def _restored(self) -> list[Report]:
        """Report the end of a loss, once the reports are up to date: never in the middle of a list."""
        if not self._lost or self._cursor.version is None:
            return []
        _log.info("watch restored", selection=str(self._selection))
        self._lost = ""
        return [WatchRestored()]

    def _has_worked(self) -> bool:
        """Did the current attempt lead to a watch that sent events or lasted for a while?"""
        return self._cursor.has_events or (self._accepted is not None and _now() - self._accepted > _ESTABLISHED)

    def _begin_list(self) -> RelistStarted:
        self._is_unserved = False
        if self._cursor.lists:
            self._metrics.kubernetes_watch_relists.inc(*self._labels)
        return RelistStarted()

    def _watch_params(self) -> dict[str, str]:
        params = self._selectors() | {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(random.randint(*_LIFETIME)),
        }
        if self._cursor.version is None:
            return params | {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
        return params | ({"resourceVersion": self._cursor.version} if self._cursor.version else {})

    def _selectors(self) -> dict[str, str]:
        wanted = {"labelSelector": self._selection.labels, "fieldSelector": self._selection.fields}
        return {name: value for name, value in wanted.items() if value}

    def _fail(self, error: KubeError) -> list[Report]:
        """Draw conclusions from a failed attempt; the loss to report, if there is one."""
        if self._lacks_optional_kind(error):
            return self._empty_list()
        polled = self._is_polled(error)
        self._learn(error)
        if polled:
            self._note_polling(error)
            return []
        return self._new_loss(error)

    def _lacks_optional_kind(self, error: KubeError | None) -> bool:
        return self._selection.optional and isinstance(error, UnknownKind)

    def _empty_list(self) -> list[Report]:
        """Report once that there are no objects. `0` is a version that is older than all."""
        if self._is_unserved:
            return []
        restored = [WatchRestored()] if self._lost else []
        self._is_unserved, self._lost, self._cursor.version = True, "", None
        return [RelistStarted(), Synced("0"), *restored]

    def _learn(self, error: KubeError) -> None:
        """Count a failure and draw conclusions for the next attempt."""
        self._metrics.kubernetes_client_watch_errors.inc(_error_type(error))
        if isinstance(error, Silent):
            self._metrics.kubernetes_watch_stalls.inc(*self._labels)
        if isinstance(error, NotFound):
            self._discovery.forget(self._selection.api_version)
        if self._client.outage.is_under_way:
            return  # a server that has just started refuses everything for a moment
        accepted = self._accepted is not None
        stubborn = self._back_off.failures(error, accepted) >= _STUBBORN
        if self._cursor.version is None:
            self._learn_to_list(error)
        elif _refused(error) or (stubborn and (accepted or _is_internal(error))):
            self._cursor.version = None

    def _learn_to_list(self, error: KubeError) -> None:
        if isinstance(error, Expired):
            self._page = "0"  # the list outlived its version, so pages are too slow here: take it whole
        refused = isinstance(error, ApiError) and error.status in _NO_STREAMED_LIST
        if self._streams_lists and (refused or isinstance(error, Silent)):
            self._streams_lists, self._retries_differently = False, True

    def _is_polled(self, error: KubeError) -> bool:
        """Was a list read in this attempt, and no watch possible because the right is missing?"""
        return self._cursor.lists > self._lists and self._accepted is None and refusals.is_forbidden(error)

    def _note_polling(self, error: KubeError) -> None:
        """Log once that the list is read again after each pause, without a right to watch: changes are late, not
        lost."""
        if not self._polls:
            explained = self._explained(error, "watch")
            _log.warn(
                "no right to watch, listing now and then instead", selection=str(self._selection), error=explained
            )
        self._polls = True

    def _new_loss(self, error: KubeError) -> list[Report]:
        """Report a loss once. A watch that ends counts as lost only if an attempt to resume it fails.

        `brief`, unless a person has to act: install a CRD, give rights, correct a selector.
        """
        first = self._accepted is not None and not self._back_off
        resumable = first or self._has_worked() or self._retries_differently or isinstance(error, Expired)
        if resumable or self._lost == str(error):
            return []
        self._lost, is_unserved = str(error), isinstance(error, UnknownKind | NotFound)
        error = self._explained(error, "list and watch")
        level = "info" if refusals.is_storage_new(error) else "warn"
        _log.log(level, "watch lost", selection=str(self._selection), error=error)
        return [WatchLost(str(error), error.brief, is_unserved)]

    def _explained(self, error: KubeError, verbs: str) -> KubeError:
        """The error; for a missing right with all verbs that a watch needs."""
        if not self._resource:
            return error
        plural = self._resource.plural
        return refusals.explain_rights(
            error, f"{verbs} {plural}", refusals.rbac_rule(self._resource, ["list", "watch"])
        )

    async def _pause(self, error: KubeError | None) -> None:
        """Wait before the next attempt: longer after each failure of a kind; a moment between lists and after a very
        short watch."""
        if self._lacks_optional_kind(error):
            await self._client.outage.turn(jitter(_LOOK_AGAIN))
        elif self._has_worked() or self._retries_differently:
            self._back_off.reset()
            if isinstance(error, Expired) or (self._cursor.has_events and _now() - (self._accepted or 0) < _SHORT):
                await asyncio.sleep(moment())
        elif error is not None:
            pause = self._back_off.pause(error, self._accepted is not None)
            asked = error.retry_after if isinstance(error, ApiError) else None
            await (asyncio.sleep(max(pause, asked)) if asked else self._client.outage.turn(pause))


def _now() -> float:
    return asyncio.get_running_loop().time()


def _refused(error: KubeError) -> bool:
    """Will the same watch be refused again? Not if credentials may be renewed, or a pause may be over."""
    passing = isinstance(error, Throttled) or (isinstance(error, Denied) and not refusals.is_forbidden(error))
    return isinstance(error, ApiError) and 400 <= error.status < 500 and not passing


def _is_internal(error: KubeError) -> bool:
    """Is it a 500, an error of the API server itself, perhaps about our version? 502 to 504 are about reaching it."""
    return isinstance(error, ApiError) and error.status == 500


def _error_type(error: KubeError) -> str:
    """The metric's label: the values of shell-operator, and `stall`."""
    match error:
        case Expired():
            return "expired"
        case Silent():
            return "stall"
        case Cut():
            return "unexpected-eof"
    return "fail"
