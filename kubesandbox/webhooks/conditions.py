"""Whether a webhook's `matchConditions` hold, and what follows if that cannot be said: its `failurePolicy` decides.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#matching-requests-matchconditions
"""

from kubesandbox import conditions
from kubesandbox.structural import expressions
from kubesandbox.structural.expressions import Failed, WrongExpression
from kubesandbox.webhooks.configured import Webhook
from kubetypes.json_values import JSON

NO_LIBRARY = "the sandbox does not evaluate matchConditions until you pip install 'hookrunner[cel]'"


class Undecided(Exception):
    """Nobody can say whether the conditions hold, and the request fails for it; says why."""


def hold(hook: Webhook, request: JSON) -> bool:
    """Whether a webhook's conditions hold for the request of its review. Raises `Undecided`."""
    try:
        if not expressions.available():
            raise Failed(NO_LIBRARY)
        return conditions.failing(hook.said["matchConditions"], request) is None
    except (Failed, WrongExpression) as error:
        if hook.ignored:
            return False
        raise Undecided(str(error)) from None
