"""What a hook has decided about a review, taken as in a running hookrunner, shown with the keys of its answer."""

from collections.abc import Sequence
from dataclasses import replace

from hookrunner.engine.reviews import conversion
from hookrunner.engine.reviews.chains import Chains, Step
from hookrunner.errors import BadOutput, ReviewFailed
from hookrunner.hooks import verdicts
from hookrunner.model.bindings import Hook
from hookrunner.model.contexts import ContextType
from hookrunner.model.operations import Answer
from hookrunner.model.resources import JSON
from hookrunner.model.reviews import ConversionReview, Converted, Verdict
from kubesandbox.errors import PatchRefused
from kubesandbox.patches import patched


async def verdict(hook: Hook, context: JSON, answer: Answer) -> JSON:
    """What the hook decided in a context; None for a context that asks for nothing. Raises BadOutput."""
    match context.get("type"):
        case ContextType.CONVERSION:
            return await _converted(hook, context, verdicts.converted(answer))
        case ContextType.VALIDATING | ContextType.MUTATING:
            return _shown(verdicts.decided(answer, ContextType(context["type"])))
    return None


def mutated(context: JSON, verdict: JSON) -> JSON:
    """The reviewed object with the verdict's patch; None without one. Raises BadOutput if it does not apply."""
    if not verdict or not verdict.get("allowed") or not verdict.get("patch"):
        return None
    obj = context["review"]["request"]["object"]
    if obj is None:
        raise BadOutput("`patch` of the admission response: there is no object that could be changed")
    for place, step in enumerate(verdict["patch"]):
        try:
            obj = patched(obj, step)
        except PatchRefused:
            told = f"patch[{place}] of the admission response, `{step['op']} {step['path']}`, cannot be applied to the "
            raise BadOutput(f"{told}object: is all there that its path leads through?") from None
    return obj


def _shown(found: Verdict) -> JSON:
    """Nothing that is empty; the code where the API server heeds it."""
    said = {
        "code": None if found.allowed else found.code,
        "message": found.message,
        "warnings": list(found.warnings),
        "auditAnnotations": dict(found.audit),
        "patch": list(found.patch),
    }
    return {"allowed": found.allowed} | {key: value for key, value in said.items() if value}


async def _converted(hook: Hook, context: JSON, found: Converted) -> JSON:
    """The objects as the API server gets them, or why there are none."""
    if found.failure:
        return {"failedMessage": found.failure}
    rule = (context["fromVersion"], context["toVersion"])
    named = (one for one in hook.config.conversions if one.name == context["binding"] and rule in one.rules)
    binding = replace(next(named), rules=(rule,))
    alone = replace(hook, config=replace(hook.config, conversions=(binding,)))
    review = ConversionReview(binding.crd, context["review"]["apiVersion"], context["review"]["request"], 0.0)

    async def answered(step: Step, objects: Sequence[JSON], review: ConversionReview) -> Converted:
        return found

    try:
        return {"convertedObjects": list(await conversion.convert(review, Chains([alone]), answered))}
    except ReviewFailed as error:
        raise BadOutput(str(error)) from None
