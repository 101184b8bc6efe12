"""Why a webhook has not answered, in the words of a real API server, which are those of Go and its client. Pure."""

from http import HTTPStatus

import aiohttp

from kubetypes import json_values

UNTRUSTED = "tls: failed to verify certificate: x509: "
WRONG_HOST, EXPIRED = 62, (9, 10)
"""Numbers of OpenSSL's verification errors."""
SAID_BY_CODE: dict[int, str] = {
    HTTPStatus.NOT_FOUND: "the server could not find the requested resource",
    HTTPStatus.BAD_REQUEST: "the server rejected our request for an unknown reason",
    HTTPStatus.UNAUTHORIZED: "the server has asked for the client to provide credentials",
    HTTPStatus.METHOD_NOT_ALLOWED: "the server does not allow this method on the requested resource",
    HTTPStatus.SERVICE_UNAVAILABLE: "the server is currently unable to handle the request",
    HTTPStatus.TOO_MANY_REQUESTS: "the server has received too many requests and has asked us to try again later",
    HTTPStatus.GATEWAY_TIMEOUT: (
        "the server was unable to return a response in the time allotted, but may still be processing the request"
    ),
}


class Unanswered(Exception):
    """There is no answer; says why."""


def checked(status: int, text: bytes, kind: str) -> bytes:
    """The body of an answer that is one; `kind` is its content type. Raises `Unanswered`."""
    if not HTTPStatus.OK <= status <= HTTPStatus.PARTIAL_CONTENT:
        raise Unanswered(_said(status, text, kind))
    if not text:
        raise Unanswered(f"0-length response with status code: {status} and content type: {kind}")
    return text


def _said(status: int, text: bytes, kind: str) -> str:
    """What an answer with such a code comes to."""
    if known := _status_message(text) or SAID_BY_CODE.get(status):
        return known
    shown = text.decode(errors="replace").strip() if kind.startswith("text/") else ""
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return f'an error on the server ("{shown or "unknown"}") has prevented the request from succeeding'
    if status == HTTPStatus.FORBIDDEN:
        return shown or "unknown"
    return f"the server responded with the status code {status} but did not return more information"


def _status_message(text: bytes) -> str:
    """The message of a `Status`; "" for other documents."""
    try:
        said = json_values.loads(text)
    except ValueError:
        return ""
    is_status = isinstance(said, dict) and said.get("kind") == "Status" and said.get("status") == "Failure"
    return str(said.get("message") or "") if is_status else ""


def of_connection(error: Exception) -> str:
    """Why a connection failed."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return UNTRUSTED + _mistrust(error.certificate_error)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"dial tcp: lookup {error.host}: no such host"
    if isinstance(error, aiohttp.ClientConnectorError):
        host = f"[{error.host}]" if ":" in error.host else error.host
        said = (error.os_error.strerror or str(error.os_error)).partition("[")[0].strip().lower()
        shown = "connection refused" if isinstance(error.os_error, ConnectionRefusedError) else said
        return f"dial tcp {host}:{error.port}: connect: {shown}"
    return "EOF" if isinstance(error, aiohttp.ServerDisconnectedError) else str(error)


def _mistrust(error: Exception) -> str:
    code, said = getattr(error, "verify_code", 0), getattr(error, "verify_message", str(error))
    if code == WRONG_HOST:
        return str(said)
    if code in EXPIRED:
        return f"certificate has expired or is not yet valid: {said}"
    return "certificate signed by unknown authority"
