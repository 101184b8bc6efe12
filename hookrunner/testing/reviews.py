"""Questions of the API server to a hook: the run for an admission or conversion review (shell-operator.md §5.3, §8)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from hookrunner.engine import dispatch
from hookrunner.engine.reviews.chains import Chains, completed, matches
from hookrunner.errors import BadInput
from hookrunner.model import contexts
from hookrunner.model.bindings import Admission, BindingType, Hook
from hookrunner.model.bindings import Conversion as ConversionBinding
from hookrunner.model.resources import JSON
from hookrunner.model.tasks import HookRun
from hookrunner.testing import choosing, webhooks
from hookrunner.testing.happenings import Conversion, NotRun, Review
from hookrunner.testing.kinds import plural
from kubetypes.match_conditions import MASTERS

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
"""Kinds that are never stored: what is reviewed when somebody connects to an object or does something to it."""


def admission(hook: Hook, review: Review, given: Sequence[JSON]) -> HookRun:
    """The run for an admission review. Raises NotRun if the API server would not call the webhook, or the hook wants no
    dry runs; BadInput if the review makes no sense."""
    request = _request(_complete(review), given)
    place = _place(hook, review.binding, lambda binding: webhooks.misfit(binding, request, given))
    if review.dry_run and hook.config.settings.on_dry_run == "skip":
        raise NotRun("settings.onDryRun is skip: the hook is not run for a dry run, which is allowed")
    extra, others = contexts.admission_review(ADMISSION_API, request), len(hook.config.validating)
    if place < others:
        return dispatch.for_admission(hook, BindingType.VALIDATING, place, extra)
    return dispatch.for_admission(hook, BindingType.MUTATING, place - others, extra)


def _place(hook: Hook, wanted: str, misfit: Callable[[Admission], str]) -> int:
    """That of the binding which is called, validating ones first."""
    bindings = (*hook.config.validating, *hook.config.mutating)
    if not wanted:
        kinds = "kubernetesValidating or kubernetesMutating"
        return choosing.only(bindings, kinds, lambda place: misfit(bindings[place]))
    place = choosing.named(bindings, wanted, "kubernetesValidating")
    if reason := misfit(bindings[place]):
        raise NotRun(reason)
    return place


def unknown(hook: Hook, run: HookRun) -> str:
    """What could not be found out about whether the API server asks for this run, empty if nothing."""
    bindings: dict[str, Sequence[Admission]] = {
        BindingType.VALIDATING: hook.config.validating,
        BindingType.MUTATING: hook.config.mutating,
    }
    if run.binding_type not in bindings:
        return ""
    request = run.contexts[0].extra["review"]["request"]
    return webhooks.unknown(bindings[run.binding_type][run.place], request)


def conversion(hook: Hook, wanted: Conversion) -> HookRun:
    """The run for one step of a conversion. Raises as `admission`."""
    if not wanted.objects:
        raise BadInput("a conversion needs at least one object: give `object` or `objects`")
    versions = sorted({obj.get("apiVersion", "") for obj in wanted.objects})
    if len(versions) > 1:
        raise BadInput(f"objects of one version are converted at a time, these have {', '.join(versions)}")
    place = choosing.named(hook.config.conversions, wanted.binding, "kubernetesCustomResourceConversion")
    binding = hook.config.conversions[place]
    rule = _rule(hook, binding, versions[0], wanted.to)
    desired = completed(rule[1], binding.crd)
    request = {"uid": UID, "desiredAPIVersion": desired, "objects": list(wanted.objects)}
    return dispatch.for_conversion(hook, place, contexts.conversion_review(CONVERSION_API, request, rule))


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
    """The declared step from a version to the wanted one (§8.6: a missing group matches any)."""
    for source, target in binding.rules:
        if matches(source, version) and (not to or matches(target, to)):
            return source, target
    known = ", ".join(f"{source}→{target}" for source, target in binding.rules)
    raise NotRun(f"conversions: {_no_step(hook, binding, version, to)}; it has {known}")


def _no_step(hook: Hook, binding: ConversionBinding, version: str, to: str) -> str:
    if matches(version, to):
        return f"the objects are in {version} already: nobody is asked"
    chain = Chains([hook]).find(binding.crd, version, to) if to else None
    if chain:
        way = "→".join([chain[0].source, *(step.target for step in chain)])
        return (
            f"the way from {version} to {to} has {len(chain)} steps ({way}), each a run: convert to {chain[0].target}"
        )
    return f"no rule leads from {version} to {to or 'anywhere'}"
