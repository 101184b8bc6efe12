"""What the condition Protected of an instance says, from what is known of the policy. Pure."""

from hookrunner.errors import KubeError, UnknownKind
from hookrunner.model.addon_status import ProtectionState
from kubetypes.json_values import JSON

PENDING = ProtectionState("Unknown", "Pending", "the policy that protects the objects is being written", True)
_UNREAD = "no controller of the cluster has reported yet that it has read the policy"
_NO_USER = "the API server does not say under which name hookrunner writes, and the policy would lock it out"


def state_without_policy(error: KubeError) -> ProtectionState:
    """Why there can be no policy: the API server has not got the kind, or could not be asked for what the policy needs.
    It may know the kind and no user names, as the sandbox."""
    if isinstance(error, UnknownKind):
        text = "the API server does not serve ValidatingAdmissionPolicies, which Kubernetes has since 1.30"
        return ProtectionState("False", "NotServed", text)
    if error.brief:
        return ProtectionState("Unknown", "Unreachable", str(error), is_passing=True)
    return ProtectionState("False", "UserUnknown", f"{_NO_USER}: {error}")


def state_with_policy(policy: JSON) -> ProtectionState:
    """What a policy that is as desired is worth. kube-controller-manager reads each generation and reports what does
    not fit (https://kubernetes.io/docs/reference/kubernetes-api/policy-resources/validating-admission-policy-v1/)."""
    status = policy.get("status") or {}
    if status.get("observedGeneration") != policy["metadata"].get("generation"):
        return ProtectionState("Unknown", "NotObserved", _UNREAD, is_passing=True)
    warnings = (status.get("typeChecking") or {}).get("expressionWarnings") or ()
    if warnings:
        text = "; ".join(f"{entry.get('fieldRef')}: {entry.get('warning')}" for entry in warnings)
        return ProtectionState("False", "TypeWarnings", f"the policy may not work: {text}")
    name = policy["metadata"]["name"]
    text = f"ValidatingAdmissionPolicy '{name}' keeps users from changing or deleting the objects"
    return ProtectionState("True", "Enforced", text)
