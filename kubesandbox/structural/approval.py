"""Groups that belong to Kubernetes (`*.k8s.io`) need an annotation that says who approved the definition.

https://kubernetes.io/docs/reference/labels-annotations-taints/#api-approved-kubernetes-io
"""

import re
from collections.abc import Iterator

from kubesandbox.status import Cause, required, shown, wrong
from kubetypes.json_values import JSON

ANNOTATION = "api-approved.kubernetes.io"
FIELD = f"metadata.annotations[{ANNOTATION}]"
PROTECTED = re.compile(r"(.*\.)?(k8s|kubernetes)\.io")
WITH_HOST = re.compile(r"[A-Za-z][-+.A-Za-z0-9]*://[^/\s]\S*")
ABOUT = "see https://github.com/kubernetes/enhancements/pull/1111"


def conditions(crd: JSON) -> Iterator[JSON]:
    """The condition that says whether the policy is met; none for other groups."""
    if PROTECTED.fullmatch(crd["spec"]["group"]):
        state, message = _state(crd)
        kind = "KubernetesAPIApprovalPolicyConformant"
        yield {"type": kind, "status": str(state == "Approved"), "reason": f"{state}Annotation", "message": message}


def problems(crd: JSON, old: JSON | None) -> Iterator[Cause]:
    """An annotation that is missing or says nothing; an old definition may stay as it was."""
    if not PROTECTED.fullmatch(crd["spec"].get("group", "")):
        return
    state, message = _state(crd)
    if old is not None and _state(old)[0] == state:
        return
    if state == "Missing":
        yield required(FIELD, message)
    elif state == "Invalid":
        yield wrong(FIELD, crd["metadata"]["annotations"][ANNOTATION], message)


def _state(crd: JSON) -> tuple[str, str]:
    said = (crd["metadata"].get("annotations") or {}).get(ANNOTATION, "")
    rule = f"protected groups must have approval annotation {shown(ANNOTATION)}"
    if not said:
        return "Missing", f"{rule}, {ABOUT}"
    if said.startswith("unapproved"):
        return "Unapproved", f"not approved: {shown(said)}"
    if WITH_HOST.fullmatch(said):
        return "Approved", f"approved in {said}"
    return "Invalid", f'{rule} with either a URL or a reason starting with "unapproved", {ABOUT}'
