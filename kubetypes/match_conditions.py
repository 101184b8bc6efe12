"""`matchConditions` of webhooks: does a request lead to a call at all? Expressions as in `kubernetes_cel.py`.

`authorizer` allows everything to members of `system:masters` and nothing to others: there is no RBAC here.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from kubetypes import cel, kubernetes_cel
from kubetypes.cel import NoValue, WrongExpression
from kubetypes.json_values import JSON

MASTERS = "system:masters"
# `namespaceObject` is declared in the API server too, but null for webhooks.
_VARIABLES = ("object", "oldObject", "request", "authorizer", "namespaceObject")
_HIDDEN = ("uid", "object", "oldObject")


def failing(conditions: Sequence[JSON], request: JSON) -> str | None:
    """The name of the first condition that is false for an AdmissionRequest, None if all hold.

    One that is false decides, even after one that has no value. Raises `WrongExpression` if one does not compile, which
    an API server refuses in the configuration; `NoValue`, naming each, if some have no value and none is false: then
    the request is refused under failurePolicy Fail, and the webhook left out under Ignore.
    """
    seen, errors = _seen(request), []
    for condition in conditions:
        try:
            if kubernetes_cel.evaluated(compiled(condition["expression"]), seen) is False:
                return str(condition["name"])
        except NoValue as error:
            errors.append(f"expression '{condition['expression']}' resulted in error: {error}")
    if errors:
        raise NoValue(errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return None


@lru_cache(maxsize=1024)
def compiled(text: str) -> Any:
    """A condition's expression. Raises `WrongExpression` if it cannot be used, for example without a boolean result."""
    program = kubernetes_cel.program(_environment(), text)
    kind = program.return_type()
    # The one boolean of `request`, whose fields have types in the API server.
    if kind != cel.library().Type.BOOL and "request.dryRun" not in text:
        raise WrongExpression(f"must evaluate to bool but got {str(kind).lower()}")
    return program


def _seen(request: JSON) -> dict[str, JSON]:
    allowed = {"allowed": MASTERS in request.get("userInfo", {}).get("groups", ())}
    return {
        "object": request.get("object"),
        "oldObject": request.get("oldObject"),
        "request": {key: value for key, value in request.items() if key not in _HIDDEN},
        "authorizer": {"requestResource": allowed, **allowed},
        "namespaceObject": None,
    }


@cache
def _environment() -> Any:
    kind = cel.library().Type
    narrowing = ("path", "group", "resource", "subresource", "namespace", "name", "fieldSelector", "labelSelector")
    functions = [
        *(_function(name, kind.MAP, [kind.STRING], lambda it, _: it) for name in (*narrowing, "check")),
        _function("serviceAccount", kind.MAP, [kind.STRING, kind.STRING], lambda it, *_: {"allowed": False}),
        _function("allowed", kind.BOOL, [], lambda it: it["allowed"]),
        _function("errored", kind.BOOL, [], lambda it: False),
        _function("error", kind.STRING, [], lambda it: ""),
        _function("reason", kind.STRING, [], lambda it: ""),
    ]
    return kubernetes_cel.environment(_VARIABLES, functions)


def _function(name: str, result: Any, parameters: list[Any], body: Any) -> Any:
    return kubernetes_cel.function(name, result, [cel.library().Type.MAP, *parameters], body)
