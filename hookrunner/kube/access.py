"""What to tell a person when the cluster cannot be reached or does not take us: which server, whose credentials, from
where they are, and what to do. `Unauthorized`, all that an API server says, names none of it.

Sources: https://kubernetes.io/docs/reference/access-authn-authz/authentication/ and the result codes of
https://docs.openssl.org/master/man3/X509_STORE_CTX_get_error/
"""

import os
import ssl
from http import HTTPStatus

import aiohttp

from hookrunner.errors import ApiError, Denied
from hookrunner.kube.credentials import Connection

_WRONG_NAME = frozenset({62, 63, 64})
_OUT_OF_DATE = frozenset({9, 10})
"""OpenSSL's numbers for a certificate that is for another host, and one that is not valid at this time."""

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
    "was the ServiceAccount deleted, or made anew? Delete the pod, so that it gets a new token; outside of its cluster "
    "name a kubeconfig with --kube-config"
)


def explained(error: ApiError, connection: Connection) -> ApiError:
    """The same error; if it is about who we are, with what a person needs to know."""
    if not isinstance(error, Denied) or not connection.origin:
        return error
    if error.status == HTTPStatus.UNAUTHORIZED or _ANONYMOUS in error.raw:
        told = f"{connection.server} does not accept the credentials of {_whose(connection)}: {_advice(connection)}"
    elif not error.reason:  # a proxy's words, or an authorizer's, which name nobody
        told = f"{connection.server} forbids this to {_whose(connection)}; see `kubectl auth can-i --list`"
    else:
        return error
    return Denied(error.status, error.reason, f"{told} ({error})", raw=error.raw)


def unreachable(error: BaseException, connection: Connection) -> str:
    """Why no answer came from this server."""
    origin = f" ({connection.origin})" if connection.origin else ""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return f"{connection.server}: {_distrust(error.certificate_error, connection)}"
    return f"{connection.server}: {words(error)}{origin}"


def words(error: BaseException) -> str:
    """For a person. Some exceptions have no text, timeouts above all; others speak of aiohttp's own matters."""
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the answer broke off in the middle"
    if type(error) is aiohttp.ClientConnectorError and error.os_error.errno:
        return f"Cannot connect: {os.strerror(error.os_error.errno)}"
    if isinstance(error, aiohttp.ConnectionTimeoutError):  # its text has the URL, of which each attempt has another
        return "Cannot connect: no answer in time"
    return str(error) or ("no answer in time" if isinstance(error, TimeoutError) else type(error).__name__)


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
    told = f"certificate verify failed: {error.verify_message}"
    if not connection.origin:
        return told
    if error.verify_code in _WRONG_NAME:
        return f"{told}: use a server name that it has, or set tls-server-name ({connection.origin})"
    if error.verify_code in _OUT_OF_DATE:
        return f"{told}: renew the server's certificate, or correct this machine's clock ({connection.origin})"
    return f"{told}: is certificate-authority the CA of this server? ({connection.origin})"
