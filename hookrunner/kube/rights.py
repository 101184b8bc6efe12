"""What is missing when the API server refuses something with 403: every verb of the feature, as one RBAC rule.

The server names one verb at a time. A user who adds that one meets the next, so the rule here has all of them.
Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources
"""

import re
from collections.abc import Sequence
from http import HTTPStatus

from hookrunner.errors import Denied, KubeError
from hookrunner.kube.client import Client
from hookrunner.model.resources import Resource

_NO_RIGHT = re.compile(r'User ".*" cannot \w+ (?:resource|path)')
"""In the server's words. Quotas, admission and a Namespace that is going answer with 403, too."""


def rule(resource: Resource, verbs: Sequence[str], subresource: str = "") -> str:
    """A rule as a line of YAML."""
    plural = f"{resource.plural}/{subresource}" if subresource else resource.plural
    group = resource.group or '""'
    return f"{{apiGroups: [{group}], resources: [{plural}], verbs: [{', '.join(verbs)}]}}"


def is_forbidden(error: BaseException) -> bool:
    """Was a request refused that another verb may achieve? A 401 is about who we are."""
    return isinstance(error, Denied) and error.status == HTTPStatus.FORBIDDEN


async def may_list(client: Client, path: str, selector: str = "") -> bool:
    """False if the server says no; what else goes wrong is for the watch to find out."""
    try:
        await client.get(path, {"limit": "1"} | ({"labelSelector": selector} if selector else {}))
    except KubeError as error:
        return not is_forbidden(error)
    return True


def explained(error: Denied, what: str, *rules: str) -> Denied:
    """The same error, saying what could not be done and which rules allow it; as it is if it is not about rights."""
    if not (is_forbidden(error) and _NO_RIGHT.search(error.raw)):
        return error
    message = f"no right to {what}: add {' and '.join(rules)} to the role of hookrunner's ServiceAccount ({error})"
    return Denied(error.status, error.reason, message, raw=error.raw)
