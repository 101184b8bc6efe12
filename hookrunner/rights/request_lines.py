"""Requests to an API server as an authorizer sees them.

    read_request("DELETE /api/v1/namespaces/web/pods/front")    # delete pods, in web, of the name front

Source: https://github.com/kubernetes/apiserver/blob/master/pkg/endpoints/request/requestinfo.go
"""

import re
from urllib.parse import parse_qs, unquote, urlsplit

from hookrunner.model.rights import AccessRequest

_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_NAMESPACES = ("status", "finalize")
"""Subresources of a Namespace, where other paths have the resource that is in it."""
_NAME = "metadata.name="

_PUBLIC = re.compile(r"/(?:api|apis|openapi)(?:/.*)?|/(?:healthz|livez|readyz|version)/?")
"""Discovery, by the roles system:discovery and system:public-info-viewer, which every user has
(https://kubernetes.io/docs/reference/access-authn-authz/rbac/#discovery-roles)."""
_OF_ONESELF = frozenset({"selfsubjectaccessreviews", "selfsubjectrulesreviews", "selfsubjectreviews"})
"""By the role system:basic-user."""


def read_request(line: str) -> AccessRequest:
    """The request of a line, `METHOD path?query`. Its verb is empty for a method that no rule can allow."""
    method, _, target = line.partition(" ")
    url = urlsplit(target)
    verb = _VERBS.get(method, "")
    query = {key: values[-1] for key, values in parse_qs(url.query, keep_blank_values=True).items()}
    parts = [unquote(part) for part in url.path.split("/") if part]
    if parts[:1] == ["api"] and len(parts) > 2:
        return _of_resource(verb, "", parts[2:], query)
    if parts[:1] == ["apis"] and len(parts) > 3:
        return _of_resource(verb, parts[1], parts[3:], query)
    return AccessRequest(method.lower(), url=url.path)


def _of_resource(verb: str, group: str, parts: list[str], query: dict[str, str]) -> AccessRequest:
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        parts = parts[2:] if len(parts) > 2 and parts[2] not in _OF_NAMESPACES else parts
    name, subresource = (*parts[1:3], "", "")[:2]
    if not name:
        verb = _of_collection(verb, query)
        terms = query.get("fieldSelector", "").split(",") if verb != "create" else []
        name = next((term.removeprefix(_NAME).lstrip("=") for term in terms if term.startswith(_NAME)), "")
    resource = f"{parts[0]}/{subresource}" if subresource else parts[0]
    return AccessRequest(verb, group, resource, namespace, name)


def _of_collection(verb: str, query: dict[str, str]) -> str:
    if verb == "get":
        return "watch" if query.get("watch", "false") not in ("false", "0") else "list"
    return "deletecollection" if verb == "delete" else verb


def is_open_to_all(request: AccessRequest) -> bool:
    """May every user make this request, so that it needs no rule?"""
    if request.url:
        return _PUBLIC.fullmatch(request.url) is not None
    return request.verb == "create" and request.resource in _OF_ONESELF
