"""What to tell a person when the API server refuses a request, or cannot be reached.

`name_missing_rule`: the rule that a refused request lacked. The client does that to every refusal, so that a rule is
named wherever one is shown.
`explain_rights`: in its place every verb of the feature, as one RBAC rule. The server names one verb at a time; a user
who adds that one meets the next.
`explain_credentials`, `describe_unreachable`: which server, whose credentials, from where they are, and what to do.
`Unauthorized`, all that an API server says, names none of it.
`without_values`: the server's message without the values that were sent. It repeats the value of each field that it
does not like: `data[a]: Invalid value: "hunter2": must be …`. Kept are the reason, the field and the rule, which say
what to correct. Webhooks and policies write sentences of their own; from these the values of the request's body are
removed.

Sources: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources,
https://kubernetes.io/docs/reference/access-authn-authz/authentication/, the result codes of
https://docs.openssl.org/master/man3/X509_STORE_CTX_get_error/, and
https://github.com/kubernetes/apimachinery/blob/master/pkg/util/validation/field/errors.go
"""

import os
import re
import ssl
from collections.abc import Sequence
from http import HTTPStatus
from typing import TypeVar

import aiohttp

from hookrunner import redaction
from hookrunner.errors import AccountDenied, ApiError, Denied, KubeError, ReleaseFailed, Throttled
from hookrunner.kube import lacked_rights
from hookrunner.kube.credentials import Connection
from hookrunner.manifests import role_objects
from hookrunner.model.addons import PROTECTION
from hookrunner.model.resources import Resource
from hookrunner.model.rights import Right
from kubetypes.json_values import JSON

_Error = TypeVar("_Error", bound=KubeError)

_NO_RIGHT = re.compile(r'User ".*" cannot [\w:-]+ (?:resource|path)')
"""In the server's words. Quotas, admission and a Namespace that is going answer with 403, too."""
_IMPERSONATION = re.compile(r'User "[^"]*" cannot impersonate[\w:-]* resource')
"""The verb is `impersonate`, or `impersonate-on:serviceaccount:create` and the like from Kubernetes 1.36 on
(https://kubernetes.io/docs/reference/access-authn-authz/user-impersonation/#constrained-impersonation)."""
_PROTECTION = re.compile(rf"ValidatingAdmissionPolicy '{re.escape(PROTECTION)}[^']*' with binding")
_ACCOUNT = re.compile(r'[Uu]ser "system:serviceaccount:([^":]+):([^"]+)"')


def rbac_rule(resource: Resource, verbs: Sequence[str], subresource: str = "") -> str:
    """A rule as a line of YAML."""
    plural = f"{resource.plural}/{subresource}" if subresource else resource.plural
    return role_objects.to_line(Right((resource.group,), (plural,), tuple(verbs)))


def is_storage_new(error: KubeError) -> bool:
    """Was the kind defined a moment ago? The API server refuses its lists for a second or two. Source:
    https://github.com/kubernetes/apiserver (`storage is (re)initializing`)"""
    return isinstance(error, Throttled) and "storage is (re)initializing" in str(error)


def is_forbidden(error: BaseException) -> bool:
    """Was a request refused that another verb may achieve? A 401 is about who we are."""
    return isinstance(error, Denied) and error.status == HTTPStatus.FORBIDDEN


def lacks_rights(error: BaseException) -> bool:
    """Was a request refused because a role lacks a rule: hookrunner's, or that of the account as which it acted? Or
    because the policy that protects objects does not know that account yet, which takes API servers a second or two?
    Errors of releases know that of all that was tried."""
    if isinstance(error, ReleaseFailed):
        return error.lacks_rights
    if not (isinstance(error, Denied) and is_forbidden(error)):
        return False
    is_about_rules = _NO_RIGHT.search(error.raw) is not None or lacked_rights.is_grant(error.raw)
    return is_about_rules or is_protection(error.raw)


def is_protection(message: str) -> bool:
    """Is a refusal by the policy of instances with `spec.protect`?"""
    return _PROTECTION.search(message) is not None


def is_impersonation(message: str) -> bool:
    """Is a refusal about the right to act as another user?"""
    return _IMPERSONATION.search(message) is not None


def name_missing_rule(error: ApiError, body: JSON = None, user: str = "") -> ApiError:
    """The same error, with the rule that allows the request of this body; as it is if it is not about rights. `user` is
    the account as which it acted: what that lacks is AccountDenied."""
    if not (isinstance(error, Denied) and is_forbidden(error)) or _ANONYMOUS in error.raw:
        return error
    if user and is_impersonation(error.raw):
        return _explain_impersonation(error, user)
    if user and lacks_rights(error):
        error = AccountDenied(error.status, error.reason, str(error), raw=error.raw)
    rules = [role_objects.to_line(right) for right in lacked_rights.lacking(error.raw, "", body)]
    if not rules:
        return error
    if lacked_rights.is_grant(error.raw):
        role = error.raw.partition(" is forbidden: ")[0]
        return _with_rules(error, f"grant what {role} has", rules, "an account can only grant what it has")
    return _with_rules(error, "do this", rules, error.raw)


def explain_rights(error: _Error, what: str, *rules: str) -> _Error | Denied:
    """The same error, saying what could not be done and which rules allow it; as it is if it is not about rights, or
    about those that a role grants, about the right to act as another account, or about the policy of protection."""
    if not (isinstance(error, Denied) and lacks_rights(error)):
        return error
    if any(is_other(error.raw) for is_other in (lacked_rights.is_grant, is_impersonation, is_protection)):
        return error
    return _with_rules(error, what, rules, error.raw if lacked_rights.lacking(error.raw) else str(error))


def _with_rules(error: Denied, what: str, rules: Sequence[str], words: str) -> Denied:
    account = _ACCOUNT.search(error.raw) if isinstance(error, AccountDenied) else None
    whose = f"ServiceAccount {account[1]}/{account[2]}" if account else "hookrunner's ServiceAccount"
    message = f"no right to {what}: add {' and '.join(rules)} to the role of {whose} ({words})"
    return type(error)(error.status, error.reason, message, raw=error.raw)


def _explain_impersonation(error: Denied, user: str) -> Denied:
    """With the rule that servers of all versions know; docs/rights.md has the narrower ones."""
    _, _, namespace, name = user.split(":")
    rule = role_objects.to_line(Right(("",), ("serviceaccounts",), ("impersonate",), (name,)))
    what = f"act as ServiceAccount {namespace}/{name}"
    return _with_rules(error, what, [f"{rule} in namespace {namespace}"], error.raw)


_WRONG_NAME = frozenset({62, 63, 64})
_OUT_OF_DATE = {9: "certificate is not yet valid", 10: "certificate has expired"}
"""OpenSSL's numbers for a certificate that is for another host, and one that is not valid at this time. Its sentences
for the latter differ between versions, and some have advice."""

_ANONYMOUS = 'User "system:anonymous"'

_ADVICE = {
    "token file": "is the token in it of this cluster, and does it get replaced before it expires?",
    "exec plugin": "log in again; `kubectl auth whoami` with this context shows whether the plugin works",
    "auth provider": "log in again; `kubectl auth whoami` with this context shows whether it works",
    "token": "it may have expired, or be of another cluster: put a new one there",
    "client certificate": "it may have expired, or be of another cluster's CA: put a new one there",
    "user name and password": "API servers take none since Kubernetes 1.19: use a token or a client certificate",
    "": "it has no credentials: give its user a token, a client certificate or an exec plugin",
}
_IN_POD = (
    "was the ServiceAccount deleted or replaced? Delete the pod, so that it gets a new token; outside of its cluster "
    "name a kubeconfig with --kube-config"
)


def explain_credentials(error: ApiError, connection: Connection) -> ApiError:
    """The same error; if it is about who we are, with what a person needs to know."""
    if not isinstance(error, Denied) or not connection.origin:
        return error
    if error.status == HTTPStatus.UNAUTHORIZED or _ANONYMOUS in error.raw:
        problem = f"{connection.server} does not accept the credentials of {_whose(connection)}: {_advice(connection)}"
    elif not error.reason:  # the text of a proxy or an authorizer, which names no user
        problem = f"{connection.server} forbids this to {_whose(connection)}; see `kubectl auth can-i --list`"
    else:
        return error
    return Denied(error.status, error.reason, f"{problem} ({error})", raw=error.raw)


def describe_unreachable(error: BaseException, connection: Connection) -> str:
    """Why no answer came from this server."""
    origin = f" ({connection.origin})" if connection.origin else ""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"{connection.server}: {_distrust(error.certificate_error, connection)}"
    return f"{connection.server}: {describe_error(error)}{origin}"


def describe_error(error: BaseException, authorities: str = "") -> str:
    """For a person. Some exceptions have no text, timeouts above all; others speak of aiohttp's own matters.
    `authorities` is the setting that names trusted certificates, for advice."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return _certificate_problem(error.certificate_error, authorities)
    if isinstance(error, aiohttp.ClientConnectorSSLError) and isinstance(error.os_error, ssl.SSLError):
        return f"Cannot connect: no TLS: {error.os_error.reason or error.os_error}"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the answer broke off in the middle"
    if isinstance(error, aiohttp.ClientHttpProxyError):  # its text has the proxy's URL, with the password
        return f"the proxy answers HTTP {error.status}"
    if isinstance(error, aiohttp.ClientResponseError):  # its text has several lines, and the URL
        return f"the answer is not HTTP: {error.message.partition(':')[0]}"
    if isinstance(error, aiohttp.ClientConnectorError):  # its text has the address of an object in memory
        return _connection_problem(error)
    if isinstance(error, aiohttp.ConnectionTimeoutError):  # its text has the URL, of which each attempt has another
        return "Cannot connect: no answer in time"
    return str(error) or ("no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)


def _connection_problem(error: aiohttp.ClientConnectorError) -> str:
    """A name that is not known, or not allowed, is an error without a number of the system."""
    if (number := error.os_error.errno or 0) > 0:
        where = " to the proxy" if isinstance(error, aiohttp.ClientProxyConnectionError) else ""
        return f"Cannot connect{where}: {os.strerror(number)}"
    return f"Cannot connect to {error.host}: {error.os_error.strerror or error.os_error}"


def _certificate_problem(error: Exception, authorities: str) -> str:
    if not isinstance(error, ssl.SSLCertVerificationError):
        return str(error)
    problem = f"certificate verify failed: {error.verify_message}"
    if error.verify_code in _WRONG_NAME or not authorities:
        return problem
    if error.verify_code in _OUT_OF_DATE:
        return f"{problem}: renew the server's certificate, or correct this machine's clock"
    return f"{problem}: name the authority that it is from with {authorities}"


def _whose(connection: Connection) -> str:
    """`kubeconfig 'x', context 'y', user 'z' (token)`."""
    user = f", user '{connection.user}'" if connection.user else ""
    file = f" '{connection.token_file}'" if connection.token_file else ""
    means = f" ({connection.means}{file})" if connection.means else ""
    return f"{connection.origin}{user}{means}"


def _advice(connection: Connection) -> str:
    kind = connection.means.partition(" '")[0]
    return _IN_POD if connection.in_pod else _ADVICE.get(kind, _ADVICE["token"])


def _distrust(error: Exception, connection: Connection) -> str:
    """Why its certificate is refused, and where that can be mended."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return str(error)
    problem = f"certificate verify failed: {_OUT_OF_DATE.get(error.verify_code, error.verify_message)}"
    if not connection.origin:
        return problem
    if error.verify_code in _WRONG_NAME:
        return f"{problem}: use a server name that it has, or set tls-server-name ({connection.origin})"
    if error.verify_code in _OUT_OF_DATE:
        return f"{problem}: renew the server's certificate, or correct this machine's clock ({connection.origin})"
    return f"{problem}: is certificate-authority the CA of this server? ({connection.origin})"


_MOST_READ, _MOST_SHOWN = 64_000, 4_000
"""Characters of a message, before and after the values are taken out that it names as wrong."""
_REFUSED = re.compile(
    r"\b(?:(?:Invalid|Unsupported|Duplicate) value|Not found)(?P<before>: )|(?P<got>, got )(?=[&{\[\"\d-])"
)
"""What begins with the value itself, before a second colon; or what server-side apply has got instead of a type."""
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)|`[^`]*(?:`|\Z)', re.DOTALL)
"""A text without an end is all that follows: to look for its end again behind each quote would take hours."""
_STRUCTURE = re.compile(r"[\w.*&\[\]]*(?=[{\[(])")
_PAIRS = {"{": "}", "[": "]", "(": ")"}
_PLAIN = re.compile(r"(?:(?!: )[^\n,\]])*")
_ELEMENT = re.compile(r'(?<=\[=)(?:"(?:[^"\\]|\\.)*"(?=\])|[^\]]*)')
"""In the path of a field, an item of a set: `.spec.tokens[="hunter2"]`."""


def without_values(message: str, body: JSON) -> str:
    """The message without the values in it: those that the server names as wrong, and those of the request's body."""
    names = {fields["name"] for fields in redaction.maps(body) if isinstance(fields.get("name"), str)}
    hidden = redaction.words(body) - names  # what containers, ports and volumes are called
    return redaction.excerpt(without_elements(_without_wrong(message[:_MOST_READ])), hidden, _MOST_SHOWN)


def without_elements(path: str) -> str:
    """A path as the API server writes it, `.spec.ports[port=80].name`, without values that are items themselves."""
    return _ELEMENT.sub("…", path)


def _without_wrong(message: str) -> str:
    kept, start = [], 0
    while match := _REFUSED.search(message, start):
        end = _end(message, match.end())
        goes_on = bool(match["before"]) and message.startswith(": ", end)
        kept.append(message[start : match.end() if goes_on else max(match.span("before")[0], match.span("got")[0])])
        start = end + 2 if goes_on else end
    return "".join([*kept, message[start:]])


def _end(message: str, start: int) -> int:
    """Where the value that begins at `start` ends: a text in quotes, a structure, or a word."""
    if text := _TEXT.match(message, start):
        return text.end()
    if opened := _STRUCTURE.match(message, start):
        return _closed(message, opened.end())
    plain = _PLAIN.match(message, start)
    return plain.end() if plain else start


def _closed(message: str, start: int) -> int:
    """Behind the bracket that closes the one at `start`; the end of the message if none does."""
    waiting, at = [_PAIRS[message[start]]], start + 1
    while waiting and at < len(message):
        if text := _TEXT.match(message, at):
            at = text.end()
            continue
        if message[at] in _PAIRS:
            waiting.append(_PAIRS[message[at]])
        elif message[at] == waiting[-1]:
            waiting.pop()
        at += 1
    return at
