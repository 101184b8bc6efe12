"""How to delete: the options of a request, from its query and its body (`DeleteOptions`). Pure."""

from collections.abc import Mapping

from kubesandbox import status
from kubesandbox.parameters import flag, number
from kubesandbox.requests import OPTIONS_OF, DeleteParameters, dry_run_problems
from kubesandbox.status import About, bad_request
from kubetypes.json_values import JSON

PROPAGATIONS = ("Foreground", "Background", "Orphan")


def read(query: Mapping[str, str], body: JSON, verb: str) -> DeleteParameters:
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
