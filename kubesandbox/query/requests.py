"""What a request asks for, from its method, path, query and (deletions) body: verb, kind, place, options. Pure.

Paths: https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-uris. Options are the query parameters of
`ListOptions`, `CreateOptions`, `UpdateOptions`, `PatchOptions` and, with its body, `DeleteOptions`.
"""

from collections.abc import Mapping

from kubesandbox import status
from kubesandbox.query.parameters import flag, number, version, version_to_wait_for
from kubesandbox.status import About, Cause, bad_request
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

VERBS = {"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
OPTIONS_OF = {
    "create": "CreateOptions", "update": "UpdateOptions", "patch": "PatchOptions", "delete": "DeleteOptions",
    "deletecollection": "DeleteOptions",
}  # fmt: skip
VALIDATIONS = ("", "Ignore", "Strict", "Warn")
DNS_LIMIT = 128


@dataclass(frozen=True, slots=True)
class Place:
    """A resource's place: collection (no name), object, or what is below an object."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class ListParameters:
    """How to list or watch. `version` is None where no resourceVersion was given."""

    labels: str = ""
    fields: str = ""
    version: int | None = None
    match: str = ""
    limit: int = 0
    token: str = ""
    watch: bool = False
    timeout: int = 0
    bookmarks: bool = False
    initial_events: bool | None = None


@dataclass(frozen=True, slots=True)
class WriteParameters:
    """How to write. `manager` is the field manager, `validation` one of Strict, Warn, Ignore."""

    manager: str = "unknown"
    dry_run: bool = False
    force: bool = False
    validation: str = "Warn"


@dataclass(frozen=True, slots=True)
class DeleteParameters:
    """How to delete. `propagation` is "" where none was asked for, `grace` None where the kind's own holds."""

    dry_run: bool = False
    propagation: str = ""
    grace: int | None = None
    uid: str = ""
    version: str = ""


def place(path: str) -> Place | None:
    """The place that a (decoded) path names; None where it cannot be a resource's."""
    parts = path.removeprefix("/").rstrip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    if old_watch(path):
        rest = rest[1:]
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
        return _place(group, version, rest[2:], rest[1])
    return _place(group, version, rest, "")


def old_watch(path: str) -> bool:
    """Whether it is a watch by its path, `/api/v1/watch/pods`, as before there was the parameter."""
    parts = path.strip("/").split("/")
    return parts[2 if parts[0] == "api" else 3 :][:1] == ["watch"]


def _place(group: str, version: str, rest: list[str], namespace: str) -> Place | None:
    if not all(rest) or len(rest) > 4:
        return None
    name, subresource = (rest[1] if len(rest) > 1 else ""), "/".join(rest[2:])
    return Place(group, version, rest[0], namespace, name, subresource)


def verb(method: str, where: Place, query: Mapping[str, str]) -> str:
    """What is asked for: get, list, watch, create, update, patch, delete, deletecollection; "" for other methods."""
    if not where.name and method == "GET":
        return "watch" if flag(query, "watch") else "list"
    if not where.name and method == "DELETE":
        return "deletecollection"
    return VERBS.get(method, "")


# ── options ───────────────────────────────────────────────────────────────────────────────────────────────────────


def list_options(query: Mapping[str, str], watch: bool) -> ListParameters:
    """Read and check. Raises Refused 400 or 422, as the rules for `resourceVersionMatch` say:
    https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list"""
    given = query.get("resourceVersion", "")
    options = ListParameters(
        labels=query.get("labelSelector", ""),
        fields=query.get("fieldSelector", ""),
        version=(version_to_wait_for if watch else version)(given) if given else None,
        match=query.get("resourceVersionMatch", ""),
        limit=max(0, number(query, "limit")),
        token=query.get("continue", ""),
        watch=watch,
        timeout=number(query, "timeoutSeconds"),
        bookmarks=flag(query, "allowWatchBookmarks"),
        initial_events=flag(query, "sendInitialEvents") if "sendInitialEvents" in query else None,
    )
    causes = _watch_problems(options) if watch else _list_problems(options)
    if causes:
        raise status.invalid(About("meta.k8s.io", "ListOptions"), causes)
    return options


def _list_problems(options: ListParameters) -> list[Cause]:
    match = "resourceVersionMatch"
    causes = []
    if options.match and options.version is None:
        causes.append(_forbidden(match, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
    if options.match and options.token:
        causes.append(_forbidden(match, "resourceVersionMatch is forbidden when continue is provided"))
    if options.match and options.match not in ("Exact", "NotOlderThan"):
        causes.append(status.unsupported(match, options.match, ["Exact", "NotOlderThan", ""]))
    if options.match == "Exact" and options.version == 0:
        causes.append(_forbidden(match, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'))
    if options.initial_events is not None:
        causes.append(_forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return causes


def _watch_problems(options: ListParameters) -> list[Cause]:
    match, initial = "resourceVersionMatch", options.initial_events is not None
    causes = []
    if initial and options.match != "NotOlderThan":
        causes.append(_forbidden(match, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
    if options.match and not initial:
        causes.append(
            _forbidden(match, "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided")
        )
    if options.match not in ("", "NotOlderThan"):
        causes.append(status.unsupported(match, options.match, ["NotOlderThan"]))
    if options.token:
        causes.append(_forbidden("continue", "continue is forbidden for watch"))
    return causes


def _forbidden(field: str, why: str) -> Cause:
    return status.forbidden_field(field, why)


def write_options(query: Mapping[str, str], verb: str, user_agent: str, apply: bool | None = None) -> WriteParameters:
    """Read and check what goes with create, update and patch (`apply`: whether it is server-side apply). Raises Refused
    400 or 422."""
    manager, validation = query.get("fieldManager", ""), query.get("fieldValidation", "")
    causes = dry_run_problems([query["dryRun"]] if "dryRun" in query else [])
    if len(manager.encode()) > DNS_LIMIT:
        causes.append(status.too_long("fieldManager", DNS_LIMIT))
    elif (at := next((at for at, char in enumerate(manager) if not char.isprintable()), None)) is not None:
        why = f"invalid character U+{ord(manager[at]):04X} (at position {at})"
        causes.append(status.wrong("fieldManager", manager, why))
    if apply and not manager:
        causes.append(status.required("fieldManager", "is required for apply patch"))
    if apply is False and "force" in query:
        causes.append(_forbidden("force", "may not be specified for non-apply patch"))
    if validation not in VALIDATIONS:
        causes.append(status.unsupported("fieldValidation", validation, VALIDATIONS))
    if causes:
        raise status.invalid(About("meta.k8s.io", OPTIONS_OF[verb]), causes)
    named = manager or user_agent.partition("/")[0][:DNS_LIMIT] or "unknown"
    return WriteParameters(named, query.get("dryRun") == "All", flag(query, "force"), validation or "Warn")


def dry_run_problems(dry_run: list[JSON]) -> list[Cause]:
    """What is wrong with the values of `dryRun`."""
    if all(one == "All" for one in dry_run):
        return []
    return [
        Cause(
            "FieldValueNotSupported", f'Unsupported value: {status.shown(dry_run)}: supported values: "All"', "dryRun"
        )
    ]


# ── deletion ──────────────────────────────────────────────────────────────────────────────────────────────────────────

# How to delete: the options of a request, from its query and its body (`DeleteOptions`). Pure.


PROPAGATIONS = ("Foreground", "Background", "Orphan")


def delete_options(query: Mapping[str, str], body: JSON, verb: str) -> DeleteParameters:
    """Read and check the query and the body (`DeleteOptions`, None without a body). Raises Refused 400 or 422."""
    said = {**_from_query(query), **(_checked_body(body) if body is not None else {})}
    dry_run, propagation = said.get("dryRun") or [], said.get("propagationPolicy") or ""
    orphan = said.get("orphanDependents")
    causes = dry_run_problems(dry_run)
    if propagation and orphan is not None:
        causes.append(
            status.wrong(
                "propagationPolicy", propagation, "orphanDependents and deletionPropagation cannot be both set"
            )
        )
    if propagation not in ("", *PROPAGATIONS):
        causes.append(
            status.unsupported("propagationPolicy", propagation, ["Foreground", "Background", "Orphan", "nil"])
        )
    if causes:
        raise status.invalid(About("meta.k8s.io", OPTIONS_OF[verb]), causes)
    if orphan is not None:
        propagation = "Orphan" if orphan else "Background"
    wanted = said.get("preconditions") or {}
    grace = said.get("gracePeriodSeconds")
    return DeleteParameters(
        bool(dry_run), propagation, grace, wanted.get("uid") or "", wanted.get("resourceVersion") or ""
    )


def _from_query(query: Mapping[str, str]) -> dict[str, JSON]:
    said: dict[str, JSON] = {}
    if "dryRun" in query:
        said["dryRun"] = [query["dryRun"]]
    if "propagationPolicy" in query:
        said["propagationPolicy"] = query["propagationPolicy"]
    if "orphanDependents" in query:
        said["orphanDependents"] = flag(query, "orphanDependents")
    if "gracePeriodSeconds" in query:
        said["gracePeriodSeconds"] = number(query, "gracePeriodSeconds")
    return said


FIELDS_OF_DELETE: dict[str, tuple[type, ...]] = {
    "dryRun": (list,), "propagationPolicy": (str,), "orphanDependents": (bool,), "gracePeriodSeconds": (int,),
    "preconditions": (dict,), "kind": (str,), "apiVersion": (str,),
}  # fmt: skip


def _checked_body(body: JSON) -> dict[str, JSON]:
    if not isinstance(body, dict) or body.get("kind", "DeleteOptions") != "DeleteOptions":
        raise bad_request("the object provided is unrecognized (must be of type DeleteOptions)")
    for key, types in FIELDS_OF_DELETE.items():
        if body.get(key) is not None and type(body[key]) not in types:
            raise bad_request(
                f"cannot unmarshal into Go struct field DeleteOptions.{key}: expected {types[0].__name__}"
            )
    wanted = body.get("preconditions") or {}
    if any(not isinstance(wanted.get(key, ""), str | None) for key in ("uid", "resourceVersion")):
        raise bad_request("cannot unmarshal into Go struct field Preconditions: expected string")
    return body
