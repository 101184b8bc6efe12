"""Rights that hookrunner's account lacks, as the API server's refusals show them: for `/readyz`, whatever the request
was for.

    right, = lacking(error.raw)            # what a refusal says; empty if it is about something else
    lacked = LackedRights()                # one for each account: its clients report refusals and answers
    lacked.conditions                      # {"rights": (True, "…")} while a right is missing, else {}
    async for message in lacked.changes(): ...     # the same words, for an Event

A part of the program that can do without a right, and asks for it by trying, does that `with tolerated_refusals():`;
one that has another way for roles without it tries both `with alternatives():`.

Source: https://github.com/kubernetes/apiserver/blob/master/pkg/endpoints/handlers/responsewriters/errors.go, and for
roles https://github.com/kubernetes/kubernetes/blob/master/pkg/registry/rbac/validation/rule.go
"""

import re
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import product
from typing import NamedTuple

from hookrunner.errors import Denied
from hookrunner.manifests.role_objects import to_line
from hookrunner.model.rights import AccessRequest, Right, compact, merge
from hookrunner.model.status import some
from hookrunner.waits import Notifier
from kubetypes.json_values import JSON

_REQUEST = re.compile(
    r'(?:\S+ (?:"(?P<name>[^"]*)" )?is )?forbidden: User "[^"]*" cannot (?P<verb>[\w:-]+) '
    r'(?:resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"(?: in the namespace "(?P<namespace>[^"]*)")?'
    r'|path "(?P<url>[^"]+)")'
)
_GRANT = re.compile(r'\S+ "[^"]*" is forbidden: user "[^"]*" .*is attempting to grant RBAC permissions not')
"""Of a role, or of a binding to one, that has rights which its author lacks. Behind it are these, as Go shows them:
`{APIGroups:[""], Resources:["pods"], Verbs:["list" "watch"]}`."""
_GRANTED_RULE = re.compile(r"\{(?:(?:, )?\w+:\[[^\]]*\])+\}")
_GRANTED_WORDS = re.compile(r"(\w+):\[([^\]]*)\]")
_WORD = re.compile(r'"([^"]*)"')

_RECENT = 900.0
"""Seconds for which a refusal is shown. What is needed is asked for again sooner; what is not any more, never."""

_MOST = 200
"""Refused requests that are kept; the rules that they lack are far fewer."""

_held: ContextVar["deque[Callable[[], None]] | None"] = ContextVar("held_refusals", default=None)
"""Refusals that are not noted yet, if at all."""


@contextmanager
def tolerated_refusals() -> Iterator[None]:
    """What is refused here is not missing: the caller does without."""
    token = _held.set(deque(maxlen=0))
    try:
        yield
    finally:
        _held.reset(token)


@contextmanager
def alternatives() -> Iterator[None]:
    """Several ways to do one thing are tried here, the usual one first. If all are refused, what that one needs is
    missing: the others are for roles that were made for other programs."""
    held = deque[Callable[[], None]]()
    token = _held.set(held)
    is_refused = False
    try:
        yield
    except Denied:
        is_refused = True
        raise
    finally:
        _held.reset(token)
        if held and is_refused:
            held[0]()


def is_grant(message: str) -> bool:
    """Was a role refused, because it grants more than its author has?"""
    return _GRANT.match(message) is not None


def lacking(message: str, namespace: str = "", body: JSON = None) -> tuple[Right, ...]:
    """The rights that a refusal is about; none if its reason is another one. A webhook's own text never begins so.
    `namespace` and `body` are those of the request, which the message does not have: for a role that was refused where
    it counts, for a binding its role. That exists, so `bind` on it is enough, where the message names all its rules."""
    if grant := _GRANT.match(message):
        if role := isinstance(body, dict) and body.get("roleRef"):
            return (Right((role["apiGroup"],), (f"{role['kind'].lower()}s",), ("bind",), (role["name"],), namespace),)
        return tuple(_granted(rule, namespace) for rule in _GRANTED_RULE.findall(message, grant.end()))
    request = _REQUEST.match(message)
    return (_requested(request),) if request else ()


def _requested(request: re.Match[str]) -> Right:
    verbs = (request["verb"],)
    if request["url"]:
        return Right((), (), verbs, urls=(request["url"],))
    return Right((request["group"],), (request["resource"],), verbs, namespace=request["namespace"] or "")


def _granted(rule: str, namespace: str) -> Right:
    parts = {key: tuple(_WORD.findall(words)) for key, words in _GRANTED_WORDS.findall(rule)}
    groups, resources, verbs = (parts.get(key, ()) for key in ("APIGroups", "Resources", "Verbs"))
    names, urls = (parts.get(key, ()) for key in ("ResourceNames", "NonResourceURLs"))
    return Right(groups, resources, verbs, names, namespace, urls)


class Refusal(NamedTuple):
    """Seconds of the clock, the rights that were missing, and the name of the object, empty without one."""

    time: float
    rights: tuple[Right, ...]
    name: str

    def requests(self) -> Iterator[AccessRequest]:
        """One for each part of these rights."""
        for right in self.rights:
            for url, verb in product(right.urls, right.verbs):
                yield AccessRequest(verb, url=url)
            names = right.names or (self.name,)
            for group, resource, name, verb in product(right.groups, right.resources, names, right.verbs):
                yield AccessRequest(verb, group, resource, right.namespace, name)


class LackedRights:
    """What was refused lately, by request: until the same one is allowed, or was not made for long. An answer about
    another object shows nothing, since a role may name its objects. `conditions` has the condition `rights` of
    `/readyz` while one is missing. A restart grants nothing, so it makes nothing unready."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._changed = Notifier()
        self._shown: set[tuple[tuple[Right, ...], str]] = set()
        self.refused: dict[Hashable, Refusal] = {}
        self.conditions: dict[str, tuple[bool, str]] = {}

    def note(self, request: Hashable, message: str = "", namespace: str = "", body: JSON = None) -> None:
        """Note that a request was answered, with this message if it was refused. `namespace` and `body` are those of
        the request, see `lacking`."""
        now = self._clock()
        if not (rights := lacking(message, namespace, body)):
            self.refused.pop(request, None)
        elif (held := _held.get()) is not None:
            held.append(partial(self.note, request, message, namespace, body))
        else:
            self.refused[request] = Refusal(now, rights, _name_in(message))
        if len(self.refused) > _MOST:
            del self.refused[min(self.refused, key=lambda noted: self.refused[noted].time)]
        self.refused = {noted: refusal for noted, refusal in self.refused.items() if now - refusal.time < _RECENT}
        lacked = {(refusal.rights, refusal.name) for refusal in self.refused.values()}
        if lacked != self._shown:
            self._shown = lacked
            self._show()

    async def wait_for_refusal(self) -> None:
        """Return as soon as a right is missing."""
        while not self.refused:
            await self._changed.next()

    async def changes(self) -> AsyncGenerator[str, None]:
        """Yield what is missing, in the words of the condition, each time that this changes; empty if nothing is any
        more. Runs until it is closed."""
        message = ""
        while True:
            if (latest := self.conditions.get("rights", (True, ""))[1]) != message:
                message = latest
                yield message
            else:
                await self._changed.next()

    def _show(self) -> None:
        refusals = self.refused.values()
        rules = compact(merge(right for refusal in refusals for right in refusal.rights))
        self.conditions.clear()
        if rules:
            lines = some([_describe(rule, refusals) for rule in rules])
            self.conditions["rights"] = True, f"add to the role of hookrunner's ServiceAccount: {lines}"
        self._changed.notify()


def _describe(rule: Right, refusals: Iterable[Refusal]) -> str:
    """The rule, with the names that were refused: whether a role should name them is for a person to decide."""
    place = f" in namespace {rule.namespace}" if rule.namespace else ""
    names = sorted({one.name for one in refusals if one.name and any(_is_about(right, rule) for right in one.rights)})
    return to_line(rule) + place + (f" (for {some(names)})" if names else "")


def _is_about(right: Right, rule: Right) -> bool:
    """Is a right that one request lacked a part of this rule?"""
    same = right.namespace == rule.namespace and {*right.verbs} <= {*rule.verbs} and {*right.urls} <= {*rule.urls}
    return same and {*right.groups} <= {*rule.groups} and {*right.resources} <= {*rule.resources}


def _name_in(message: str) -> str:
    request = _REQUEST.match(message)
    return (request and request["name"]) or ""
