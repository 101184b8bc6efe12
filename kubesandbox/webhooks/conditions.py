"""Whether a webhook's `matchConditions` hold, and what follows if that cannot be said: its `failurePolicy` decides.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions
"""

from kubesandbox.webhooks.configured import ConfiguredWebhook
from kubetypes import cel, match_conditions
from kubetypes.cel import NoValue, WrongExpression
from kubetypes.json_values import JSON

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
