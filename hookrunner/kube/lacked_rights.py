"""Rights that hookrunner's account lacks, as the API server's refusals show them: for `/readyz`, whatever the request
was for.

    right, = lacking(error.raw)            # what a refusal says; empty if it is about something else
    lacked = LackedRights()                # one for each account: its clients report refusals and answers
    lacked.conditions                      # {"rights": (True, "…")} while a right is missing, else {}

A part of the program that can do without a right, and asks for it by trying, does that `with tolerated_refusals():`.

Source: https://github.com/kubernetes/apiserver/blob/master/pkg/endpoints/handlers/responsewriters/errors.go, and for
roles https://github.com/kubernetes/kubernetes/blob/master/pkg/registry/rbac/validation/rule.go
"""

import re
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from hookrunner.manifests.role_objects import to_line
from hookrunner.model.rights import Right, compact, merge
from hookrunner.model.status import some

_REQUEST = re.compile(
    r'(?:\S+ (?:"[^"]*" )?is )?forbidden: User "[^"]*" cannot (?P<verb>\w+) '
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

_tolerated: ContextVar[bool] = ContextVar("tolerated_refusals", default=False)


@contextmanager
def tolerated_refusals() -> Iterator[None]:
    """What is refused here is not missing: the caller does without."""
    token = _tolerated.set(True)
    try:
        yield
    finally:
        _tolerated.reset(token)


def is_grant(message: str) -> bool:
    """Was a role refused, because it grants more than its author has?"""
    return _GRANT.match(message) is not None


def lacking(message: str) -> tuple[Right, ...]:
    """The rights that a refusal is about; none if its reason is another one. A webhook's own text never begins so."""
    if grant := _GRANT.match(message):
        return tuple(map(_granted, _GRANTED_RULE.findall(message, grant.end())))
    request = _REQUEST.match(message)
    return (_requested(request),) if request else ()


def _requested(request: re.Match[str]) -> Right:
    verbs = (request["verb"],)
    if request["url"]:
        return Right((), (), verbs, urls=(request["url"],))
    return Right((request["group"],), (request["resource"],), verbs, namespace=request["namespace"] or "")


def _granted(rule: str) -> Right:
    parts = {key: tuple(_WORD.findall(words)) for key, words in _GRANTED_WORDS.findall(rule)}
    groups, resources, verbs = (parts.get(key, ()) for key in ("APIGroups", "Resources", "Verbs"))
    names, urls = (parts.get(key, ()) for key in ("ResourceNames", "NonResourceURLs"))
    return Right(groups, resources, verbs, names, urls=urls)


class LackedRights:
    """What was refused lately, by the kind of request: until one of its kind is allowed, or none was made for long.
    `refused` has for each when, in seconds of the clock, and the rights; `conditions` has the condition `rights` of
    `/readyz` while one is missing. A restart grants nothing, so it makes nothing unready."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.refused: dict[Hashable, tuple[float, tuple[Right, ...]]] = {}
        self.conditions: dict[str, tuple[bool, str]] = {}

    def note(self, request: Hashable, message: str = "") -> None:
        """Note that a request of this kind was answered, with this message if it was refused."""
        now = self._clock()
        if not (rights := lacking(message)):
            self.refused.pop(request, None)
        elif not _tolerated.get():
            self.refused[request] = (now, rights)
        self.refused = {kind: noted for kind, noted in self.refused.items() if now - noted[0] < _RECENT}
        lacked = merge(right for _, rights in self.refused.values() for right in rights)
        self.conditions.clear()
        if rules := list(map(_describe, compact(lacked))):
            self.conditions["rights"] = True, f"add to the role of hookrunner's ServiceAccount: {some(rules)}"


def _describe(right: Right) -> str:
    return f"{to_line(right)} in namespace {right.namespace}" if right.namespace else to_line(right)
