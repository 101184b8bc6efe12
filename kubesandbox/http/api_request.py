"""One request, understood as far as its path and headers go: which kind, which verb, which form of answer."""

from dataclasses import field, replace

from aiohttp import web

from kubesandbox import status
from kubesandbox.http import answers
from kubesandbox.http.answers import Form
from kubesandbox.kinds import Kind, Kinds
from kubesandbox.query import requests
from kubesandbox.query.requests import Place
from kubesandbox.status import NoPage
from kubetypes.light_dataclasses import dataclass

ACROSS_NAMESPACES = ("list", "watch")
COLLECTION = ("list", "watch", "create", "deletecollection")
LISTS = ("list", "deletecollection")


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """What is asked for. `warnings` are collected for the answer."""

    http: web.BaseRequest
    query: dict[str, str]
    form: Form
    where: Place
    kind: Kind
    verb: str
    warnings: list[str] = field(default_factory=list)

    @property
    def user_agent(self) -> str:
        """Names the field manager where no parameter does."""
        return self.http.headers.get("User-Agent", "")

    @property
    def content_type(self) -> str:
        """Without parameters; "" where none was given."""
        return self.http.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def understood(http: web.BaseRequest, query: dict[str, str], kinds: Kinds) -> ApiRequest:
    """The request, if it can be done. Raises Refused 404, 405, 406, and 501 for what only real API servers do."""
    where = requests.place(http.path)
    if where is None:
        raise NoPage
    kind = _kind(where, kinds)
    if requests.old_watch(http.path):
        where, query = _as_watch(http.method, where, query)
    verb = requests.verb(http.method, where, query)
    _check_served(where, kind, verb)
    headers = http.headers
    form = answers.form(headers.get("Accept", ""), query, headers.get("User-Agent", ""), verb in LISTS)
    return ApiRequest(http, query, form, where, kind, verb)


def _as_watch(method: str, where: Place, query: dict[str, str]) -> tuple[Place, dict[str, str]]:
    """A watch by its path is one of a collection, or of one object in it. Raises Refused 400, 404, 405."""
    if where.subresource:
        raise status.no_such_path()
    if method != "GET":
        raise status.method_not_allowed()
    one = f"metadata.name={where.name}" if where.name else query.get("fieldSelector", "")
    if where.name and query.get("fieldSelector", one) != one:
        raise status.bad_request("fieldSelector metadata.name doesn't match requested name")
    return replace(where, name=""), query | {"watch": "true", "fieldSelector": one}


def _kind(where: Place, kinds: Kinds) -> Kind:
    kind = kinds.get(where.group, where.version, where.plural)
    if kind is None:
        known = any(one.group == where.group for one in kinds)
        raise status.no_such_path() if known else NoPage
    if (where.namespace and not kind.namespaced) or (where.name and kind.namespaced and not where.namespace):
        raise NoPage if kind.custom else status.no_such_path()
    return kind


def _check_served(where: Place, kind: Kind, verb: str) -> None:
    """Raises Refused for what cannot be done: 405, 404, or 501 where only a real API server does it."""
    if not kind.served:
        raise status.not_done_here(kind.plural)
    allowed = kind.verbs
    if where.subresource:
        below = kind.subresources.get(where.subresource.partition("/")[0])
        if below is None and kind.custom:
            raise status.not_found(kind.resource(where.name))
        if below is None:
            raise status.no_such_path()
        if not below.served:
            raise status.not_done_here(f"{kind.plural}/{where.subresource}")
        allowed = below.verbs
    elsewhere = kind.namespaced and not where.namespace and verb not in ACROSS_NAMESPACES
    named = bool(where.name) and not where.subresource
    if verb not in allowed or elsewhere or (not where.subresource and named == (verb in COLLECTION)):
        raise status.method_not_allowed()
