"""Questions of the API server to a hook: the context of an admission or conversion review, and the hook's verdict
(shell-operator.md §5.3, §7.3, §7.4, §8). `matchConditions` are not evaluated: nothing here speaks CEL."""

from collections.abc import Iterator, Sequence

from hookrunner.engine import dispatch
from hookrunner.errors import BadInput, BadOutput
from hookrunner.hooks import verdicts
from hookrunner.hooks.config import selectors
from hookrunner.model import contexts
from hookrunner.model.bindings import Admission, Hook
from hookrunner.model.bindings import Conversion as ConversionBinding
from hookrunner.model.contexts import Context, ContextType
from hookrunner.model.operations import Answer
from hookrunner.model.resources import JSON
from hookrunner.model.reviews import Converted, Verdict
from hookrunner.sandbox.patches import json_patch
from hookrunner.sandbox.status import Refused
from hookrunner.testing import choosing
from hookrunner.testing.happenings import Conversion, NotRun, Review
from hookrunner.testing.kinds import plural
from hookrunner.testing.matching import failed_label, labels_of_namespace

OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")
UID = "00000000-0000-4000-8000-000000000000"
"""Of every made-up review: contexts are the same each time."""


def admission(hook: Hook, review: Review, given: Sequence[JSON]) -> Context:
    """The context of an admission review. Raises NotRun if the binding's rules or selectors leave it out, BadInput if
    the review makes no sense."""
    review = _complete(review)
    bindings = (*hook.config.validating, *hook.config.mutating)
    if review.binding:
        place = choosing.named(bindings, review.binding, "kubernetesValidating")
        if reason := _misfit(bindings[place], review, given):
            raise NotRun(reason)
    else:
        place = choosing.only(
            bindings, "kubernetesValidating or kubernetesMutating", lambda i: _misfit(bindings[i], review, given)
        )
    binding = bindings[place]
    kind = ContextType.VALIDATING if place < len(hook.config.validating) else ContextType.MUTATING
    extra = contexts.admission_review("admission.k8s.io/v1", _request(review, given))
    return Context(binding.name, kind, includes=dispatch.includes(hook, binding), extra=extra)


def conversion(hook: Hook, wanted: Conversion) -> Context:
    """The context of one step of a conversion. Raises as `admission`."""
    if not wanted.objects:
        raise BadInput("a conversion needs at least one object")
    versions = {obj.get("apiVersion", "") for obj in wanted.objects}
    place = choosing.named(hook.config.conversions, wanted.binding, "kubernetesCustomResourceConversion")
    binding = hook.config.conversions[place]
    rule = _rule(binding, versions, wanted.to)
    group = sorted(versions)[0].rpartition("/")[0]
    desired = rule[1] if "/" in rule[1] or not group else f"{group}/{rule[1]}"
    request = {"uid": UID, "desiredAPIVersion": desired, "objects": list(wanted.objects)}
    extra = contexts.conversion_review("apiextensions.k8s.io/v1", request, rule)
    return Context(binding.name, ContextType.CONVERSION, includes=dispatch.includes(hook, binding), extra=extra)


def verdict(answer: Answer, kind: ContextType) -> JSON:
    """What the hook decided, with the keys of its answer; None for runs that ask for no verdict. Raises BadOutput."""
    match kind:
        case ContextType.CONVERSION:
            return _shown_conversion(verdicts.converted(answer))
        case ContextType.VALIDATING | ContextType.MUTATING:
            return _shown_admission(verdicts.decided(answer, kind))
    return None


def _shown_admission(found: Verdict) -> JSON:
    """Nothing that is empty; the code where the API server heeds it."""
    shown: JSON = {"allowed": found.allowed}
    shown |= {} if found.allowed else {"code": found.code}
    said = {
        "message": found.message,
        "warnings": list(found.warnings),
        "auditAnnotations": dict(found.audit),
        "patch": list(found.patch),
    }
    return shown | {key: value for key, value in said.items() if value}


def _shown_conversion(found: Converted) -> JSON:
    return {"failedMessage": found.failure} if found.failure else {"convertedObjects": list(found.objects)}


def mutated(seen: JSON, verdict: JSON) -> JSON:
    """The reviewed object with the verdict's patch; None without one. Raises BadOutput if it does not apply."""
    if not verdict or not verdict.get("patch"):
        return None
    try:
        return json_patch.apply(seen[0]["review"]["request"]["object"], verdict["patch"])
    except Refused as refused:
        raise BadOutput(f"`patch` of the admission response cannot be applied to the object: {refused}") from None


def _complete(review: Review) -> Review:
    """A deleted object is the old one, and nothing is there any more."""
    if review.operation not in OPERATIONS:
        raise BadInput(f"operation '{review.operation}' is none of {', '.join(OPERATIONS)}")
    obj, old = review.obj, review.old
    if review.operation == "DELETE":
        obj, old = None, old or obj
    if obj is None and old is None:
        raise BadInput("a review needs an object")
    return Review(review.operation, obj, old, review.binding, review.dry_run)


def _request(review: Review, given: Sequence[JSON]) -> JSON:
    subject = review.obj or review.old
    group, _, version = subject.get("apiVersion", "v1").rpartition("/")
    kind = {"group": group, "version": version, "kind": subject["kind"]}
    resource = {"group": group, "version": version, "resource": plural(subject, given)}
    namespace = subject["metadata"].get("namespace")
    options = {"CONNECT": None}.get(
        review.operation,
        {"kind": f"{review.operation.capitalize()}Options", "apiVersion": "meta.k8s.io/v1"},
    )
    return {
        "uid": UID,
        "kind": kind,
        "resource": resource,
        "requestKind": kind,
        "requestResource": resource,
        "name": subject["metadata"]["name"],
        **({"namespace": namespace} if namespace else {}),
        "operation": review.operation,
        "userInfo": {"username": "kubernetes-admin", "groups": ["system:masters", "system:authenticated"]},
        "object": review.obj,
        "oldObject": review.old,
        "dryRun": review.dry_run,
        "options": options,
    }


def _misfit(binding: Admission, review: Review, given: Sequence[JSON]) -> str:
    """Why the API server would not ask this webhook."""
    subject = review.obj or review.old
    reasons = [_outside(rule, review.operation, subject, given) for rule in binding.rules]
    if all(reasons):
        return "rules: " + ("; ".join(reasons) or "the binding has none")
    return next(_deselections(binding, review, given), "")


def _outside(rule: JSON, operation: str, obj: JSON, given: Sequence[JSON]) -> str:
    group, _, version = obj.get("apiVersion", "v1").rpartition("/")
    scope = "Namespaced" if obj["metadata"].get("namespace") else "Cluster"
    resource = plural(obj, given)
    asked = {"apiGroups": group, "apiVersions": version, "resources": resource, "operations": operation}
    for key, value in asked.items():
        # `*/*` and `pods/*` cover the resource itself and its subresources.
        wanted = [item.removesuffix("/*") if key == "resources" else item for item in rule[key]]
        if "*" not in wanted and value not in wanted:
            return f"{key}: {value!r} is none of {rule[key]}"
    if rule.get("scope", "*") not in ("*", scope):
        return f"scope: the object is {scope}, the rule is for {rule['scope']}"
    return ""


def _deselections(binding: Admission, review: Review, given: Sequence[JSON]) -> Iterator[str]:
    """Source: https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/"""
    states = [state for state in (review.obj, review.old) if state is not None]
    wanted = selectors.labels(binding.object_selector or {})
    failed = [failed_label(wanted, state["metadata"].get("labels") or {}) for state in states]
    if all(failed):
        yield f"labelSelector: '{failed[0]}' does not hold for the labels of the object"
    name = states[0]["metadata"].get("namespace", "")
    selector = selectors.labels(binding.namespace_selector or {})
    if selector and name:
        labels = labels_of_namespace(name, given)
        if labels is None:
            yield f"namespace.labelSelector: Namespace '{name}' is not among the given objects"
        elif broken := failed_label(selector, labels):
            yield f"namespace.labelSelector: '{broken}' does not hold for the labels of Namespace '{name}'"


def _rule(binding: ConversionBinding, versions: set[str], to: str) -> tuple[str, str]:
    """The declared step from the objects' version to the wanted one (§8.6: a missing group matches any)."""
    for source, target in binding.rules:
        if any(_same(source, version) for version in versions) and (not to or _same(target, to)):
            return source, target
    known = ", ".join(f"{source}→{target}" for source, target in binding.rules)
    raise NotRun(
        f"conversions: no rule leads from {' or '.join(sorted(versions))} to {to or 'anywhere'}; it has {known}"
    )


def _same(one: str, other: str) -> bool:
    if "/" in one and "/" in other:
        return one == other
    return one.rpartition("/")[2] == other.rpartition("/")[2]
