"""The run of a hook for an admission or conversion review, and whether the API server would ask for it.

Rules: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from hookrunner.engine import dispatch
from hookrunner.engine.reviews.chains import Chains, completed, matches
from hookrunner.errors import BadInput
from hookrunner.hooks.config import selectors
from hookrunner.model import contexts
from hookrunner.model.bindings import Admission, BindingType, Hook
from hookrunner.model.bindings import ConversionBinding as ConversionBinding
from hookrunner.model.reviews import ConversionRequest
from hookrunner.model.tasks import HookRun
from hookrunner.testing.happenings import Conversion, NotRun, Review, find_binding, find_only_binding
from hookrunner.testing.matching import labels_of_namespace, plural
from kubetypes import cel, match_conditions
from kubetypes.cel import NoValue, WrongExpression
from kubetypes.json_values import JSON
from kubetypes.match_conditions import MASTERS
from kubetypes.selectors import Requirement, failed_label, read_requirements
from kubetypes.webhook_rules import AskedWrite, failed_object_label, failed_part

OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
UID = "00000000-0000-4000-8000-000000000000"
"""Of every made-up review: contexts are the same each time."""
ADMISSION_API, CONVERSION_API = "admission.k8s.io/v1", "apiextensions.k8s.io/v1"

_PARTS = {
    "PodAttachOptions": ("pods", "attach"),
    "PodExecOptions": ("pods", "exec"),
    "PodPortForwardOptions": ("pods", "portforward"),
    "PodProxyOptions": ("pods", "proxy"),
    "ServiceProxyOptions": ("services", "proxy"),
    "NodeProxyOptions": ("nodes", "proxy"),
    "Eviction": ("pods", "eviction"),
    "Binding": ("pods", "binding"),
}
"""Kinds that are never stored: requests to a subresource, such as a connection to a Pod, and that subresource."""


def admission(hook: Hook, review: Review, given: Sequence[JSON]) -> HookRun:
    """The run for an admission review. Raises NotRun if the API server would not call the webhook, or the hook wants no
    dry runs; BadInput if the review makes no sense."""
    request = _request(_complete(review), given)
    index = _binding_index(hook, review.binding, lambda binding: _webhook_misfit(binding, request, given))
    if review.dry_run and hook.config.settings.on_dry_run == "skip":
        raise NotRun("settings.onDryRun is skip: the hook is not run for a dry run, which is allowed")
    extra, others = contexts.admission_review(ADMISSION_API, request), len(hook.config.validating)
    if index < others:
        return dispatch.for_admission(hook, BindingType.VALIDATING, index, extra)
    return dispatch.for_admission(hook, BindingType.MUTATING, index - others, extra)


def _binding_index(hook: Hook, wanted: str, misfit: Callable[[Admission], str]) -> int:
    """That of the binding which is called, validating ones first."""
    bindings = (*hook.config.validating, *hook.config.mutating)
    if not wanted:
        kinds = "kubernetesValidating or kubernetesMutating"
        return find_only_binding(bindings, kinds, lambda index: misfit(bindings[index]))
    index = find_binding(bindings, wanted, "kubernetesValidating")
    if reason := misfit(bindings[index]):
        raise NotRun(reason)
    return index


def unknown(hook: Hook, run: HookRun) -> str:
    """What could not be found out about whether the API server asks for this run, empty if nothing."""
    bindings: dict[str, Sequence[Admission]] = {
        BindingType.VALIDATING: hook.config.validating,
        BindingType.MUTATING: hook.config.mutating,
    }
    if run.binding_type not in bindings:
        return ""
    request = run.contexts[0].extra["review"]["request"]
    return _conditions(bindings[run.binding_type][run.place], request)[1]


def conversion(hook: Hook, wanted: Conversion) -> HookRun:
    """The run for one step of a conversion. Raises as `admission`."""
    if not wanted.objects:
        raise BadInput("a conversion needs at least one object: give `object` or `objects`")
    versions = sorted({obj.get("apiVersion", "") for obj in wanted.objects})
    if len(versions) > 1:
        raise BadInput(f"objects of one version are converted at a time, these have {', '.join(versions)}")
    index = find_binding(hook.config.conversions, wanted.binding, "kubernetesCustomResourceConversion")
    binding = hook.config.conversions[index]
    rule = _rule(hook, binding, versions[0], wanted.to)
    desired = completed(rule[1], binding.crd)
    request = ConversionRequest.of({"uid": UID, "desiredAPIVersion": desired, "objects": list(wanted.objects)})
    extra = contexts.conversion_review(CONVERSION_API, request.head, rule)
    (group,) = request.groups.values()
    return dispatch.for_conversion(hook, index, extra, group.objects)


def _complete(review: Review) -> Review:
    """A deleted object is the old one, and nothing is there any more."""
    if review.operation not in OPERATIONS:
        raise BadInput(f"operation '{review.operation}' is none of {', '.join(OPERATIONS)}")
    obj, old = review.obj, review.old
    if review.operation == "DELETE":
        obj, old = None, old or obj
    if obj is None and old is None:
        raise BadInput("a review needs an object")
    if review.operation == "UPDATE" and (obj is None or old is None):
        raise BadInput("an UPDATE needs the object as it was, too: give `oldObject` (--old-object)")
    return replace(review, obj=obj, old=old)


def _request(review: Review, given: Sequence[JSON]) -> JSON:
    """The AdmissionRequest. Source: https://kubernetes.io/docs/reference/config-api/apiserver-admission.v1/"""
    subject = review.obj or review.old
    metadata = subject["metadata"]
    group, _, version = subject.get("apiVersion", "v1").rpartition("/")
    kind = {"group": group, "version": version, "kind": subject["kind"]}
    resource, part = {"group": group, "version": version, "resource": plural(subject, given)}, review.part
    if subject["kind"] in _PARTS:
        name, part = _PARTS[subject["kind"]]
        resource = {"group": "", "version": "v1", "resource": name}
    return {
        "uid": UID,
        "kind": kind,
        "resource": resource,
        **({"subResource": part} if part else {}),
        "requestKind": kind,
        "requestResource": resource,
        **({"requestSubResource": part} if part else {}),
        "name": metadata["name"],
        **({"namespace": metadata["namespace"]} if metadata.get("namespace") else {}),
        "operation": review.operation,
        "userInfo": {"username": "kubernetes-admin", "groups": [MASTERS, "system:authenticated"]},
        "object": _sent(review.obj),
        "oldObject": review.old,
        "dryRun": review.dry_run,
        "options": _options(review),
    }


def _sent(obj: JSON) -> JSON:
    """Options of a connection have no metadata; to us they are given with that of the object connected to."""
    if obj is None or not obj["kind"].endswith("Options"):
        return obj
    return {key: value for key, value in obj.items() if key != "metadata"}


def _options(review: Review) -> JSON:
    if review.operation == "CONNECT":
        return None
    options = {"kind": f"{review.operation.capitalize()}Options", "apiVersion": "meta.k8s.io/v1"}
    return options | ({"dryRun": ["All"]} if review.dry_run else {})


def _rule(hook: Hook, binding: ConversionBinding, version: str, to: str) -> tuple[str, str]:
    """The declared step from a version to the wanted one (a version without group matches any group)."""
    for source, target in binding.rules:
        if matches(source, version) and (not to or matches(target, to)):
            return source, target
    known = ", ".join(f"{source}→{target}" for source, target in binding.rules)
    raise NotRun(f"conversions: {_no_step(hook, binding, version, to)}; it has {known}")


def _no_step(hook: Hook, binding: ConversionBinding, version: str, to: str) -> str:
    if matches(version, to):
        return f"the objects are in {version} already: the API server does not ask"
    chain = Chains([hook]).find(binding.crd, version, to) if to else None
    if chain:
        way = "→".join([chain[0].source, *(step.target for step in chain)])
        return (
            f"the way from {version} to {to} has {len(chain)} steps ({way}), each a run: convert to {chain[0].target}"
        )
    return f"no rule leads from {version} to {to or 'anywhere'}"


_EXEMPT = ("validatingwebhookconfigurations", "mutatingwebhookconfigurations")


def _webhook_misfit(binding: Admission, request: JSON, given: Sequence[JSON]) -> str:
    """Why the API server would not call this webhook for an AdmissionRequest, empty if it would."""
    if request["resource"]["resource"] in _EXEMPT:
        return f"the API server asks no webhook about {request['resource']['resource']}"
    reasons = [_outside(rule, request) for rule in binding.rules]
    if all(reasons):
        return "rules: " + ("; ".join(reasons) or "the binding has none")
    return next(_deselections(binding, request, given), "") or _conditions(binding, request)[0]


def _outside(rule: JSON, request: JSON) -> str:
    """Why a rule does not cover the request, empty if it does."""
    resource, part, namespace = request["resource"], request.get("subResource", ""), request.get("namespace")
    kind = (resource["group"], resource["version"], resource["resource"])
    key = failed_part(rule, AskedWrite(request["operation"], *kind, part, bool(namespace)))
    if key == "scope":
        state = "is Namespaced" if namespace else "has no metadata.namespace; kubectl would fill it in"
        return f"scope: the rule is for {rule['scope']}, and the object {state}"
    asked = dict(zip(("apiGroups", "apiVersions"), kind, strict=False)) | {"operations": request["operation"]}
    value = asked.get(key) if key in asked else "/".join(filter(None, (resource["resource"], part)))
    return f"{key}: {value!r} is none of {rule[key]}" if key else ""


def _deselections(binding: Admission, request: JSON, given: Sequence[JSON]) -> Iterator[str]:
    states = [state for state in (request["object"], request["oldObject"]) if state is not None]
    if failed := failed_object_label(_wanted(binding.object_selector), states):
        yield f"labelSelector: '{failed}' does not hold for the labels of the object"
    wanted = _wanted(binding.namespace_selector)
    is_namespace = request["kind"] == {"group": "", "version": "v1", "kind": "Namespace"}
    name = request["name"] if is_namespace else request.get("namespace")
    if wanted and name:
        labels = labels_of_namespace(name, states if is_namespace else given)
        if labels is None:
            yield f"namespace.labelSelector: Namespace '{name}' is not among the given objects"
        elif failed := failed_label(wanted, labels):
            yield f"namespace.labelSelector: '{failed}' does not hold for the labels of Namespace '{name}'"


def _wanted(selector: JSON) -> tuple[Requirement, ...]:
    """What a selector requires, in the order and words in which bindings show it."""
    return read_requirements(selectors.labels(selector or {}))


def _conditions(binding: Admission, request: JSON) -> tuple[str, str]:
    """Why matchConditions leave the request out, and what could not be found out."""
    if not binding.match_conditions:
        return "", ""
    if not cel.available():
        return "", f"matchConditions of {binding.name} are not evaluated: install hookrunner[cel]"
    try:
        name = match_conditions.failing(binding.match_conditions, request)
    except WrongExpression as error:
        return "", f"matchConditions of {binding.name} cannot be evaluated: {error}"
    except NoValue as error:
        refused = "leaves the webhook out" if binding.failure_policy == "Ignore" else "refuses the request"
        return f"matchConditions: {error}; with failurePolicy {binding.failure_policy} the API server {refused}", ""
    expression = next(
        (condition["expression"] for condition in binding.match_conditions if condition["name"] == name), ""
    )
    return (f"matchConditions: '{name}' is false: {expression}", "") if name is not None else ("", "")
