"""Which webhooks a request concerns: rules, equivalent versions, selectors, match conditions. Pure.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-rules
"""

from collections.abc import Sequence
from dataclasses import replace

from kubesandbox.kinds import Kind
from kubesandbox.query.requests import Place
from kubesandbox.verbs.rules import Object
from kubesandbox.webhooks.configurations import ConfiguredWebhook
from kubetypes import cel, match_conditions
from kubetypes.cel import NoValue, WrongExpression
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.webhook_rules import AskedWrite, failed_object_label, failed_part

CREATE, UPDATE, DELETE = "CREATE", "UPDATE", "DELETE"


@dataclass(frozen=True, slots=True)
class Attempt:
    """The write of a request: of which kind and where; `options` and `user` as reviews show them."""

    kind: Kind
    where: Place
    options: Object
    user: Object
    dry_run: bool = False

    @property
    def is_namespace(self) -> bool:
        """Whether it is about a Namespace itself."""
        return self.kind.stored == "namespaces"

    def namespace(self, obj: Object | None) -> str:
        """Its namespace; that of a Namespace is it itself."""
        if not self.is_namespace:
            return self.where.namespace
        return self.where.name or str((obj or {}).get("metadata", {}).get("name", ""))


def operation(obj: Object | None, old: Object | None) -> str:
    """What is done to an object."""
    return CREATE if old is None else DELETE if obj is None else UPDATE


def matched(
    hook: ConfiguredWebhook, attempt: Attempt, equivalents: Sequence[Kind], obj: Object | None, old: Object | None
) -> Kind | None:
    """The kind in whose version the webhook receives an attempt; None if its rules do not match.

    `equivalents` are other versions of the attempt's kind.
    """
    namespaced, where = bool(attempt.namespace(obj)) and not attempt.is_namespace, attempt.where
    asked = AskedWrite(operation(obj, old), "", "", where.plural, where.subresource, namespaced)

    def covers(rule: Object, kind: Kind) -> bool:
        return not failed_part(rule, replace(asked, group=kind.group, version=kind.version))

    rules = hook.said.get("rules") or ()
    if any(covers(rule, attempt.kind) for rule in rules):
        return attempt.kind
    if hook.said.get("matchPolicy") == "Exact":
        return None
    return next((kind for rule in rules for kind in equivalents if covers(rule, kind)), None)


def selected(hook: ConfiguredWebhook, obj: Object | None, old: Object | None) -> bool:
    """Whether the webhook's `objectSelector` selects the object as it was or as it would be."""
    return failed_object_label(hook.objects.requirements, (obj, old)) is None


# ── matchConditions ───────────────────────────────────────────────────────────────────────────────────────────────────

# Whether a webhook's `matchConditions` hold; its `failurePolicy` decides if that is unknown.
#
# https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions


NO_LIBRARY = "the sandbox does not evaluate matchConditions until you pip install 'hookrunner[cel]'"


class Undecided(Exception):
    """It is unknown whether the conditions hold, and the request fails; says why."""


def hold(hook: ConfiguredWebhook, request: JSON) -> bool:
    """Whether a webhook's conditions hold for the request of its review. Raises `Undecided`."""
    try:
        if not cel.available():
            raise NoValue(NO_LIBRARY)
        return match_conditions.failing(hook.said["matchConditions"], request) is None
    except (NoValue, WrongExpression) as error:
        if hook.ignored:
            return False
        raise Undecided(str(error)) from None
