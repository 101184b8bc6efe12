"""For authors of cloud providers in Python: verbs as functions, errors as classes, both ways of running.

    #!/usr/bin/env python3
    from hookrunner.provider import run, verb

    @verb
    def instances(params):
        return {"instances": [{"name": node["name"], "state": "running"} for node in params["nodes"]]}

    run("my-cloud")

A function gets the `params` of a request and returns its `result`, or raises one of the errors below. A verb with a
hyphen is written with an underscore (`lb_ensure`), or named: `@verb("lb-ensure")`. `capabilities` follows from the
verbs that there are; `serve` comes at no extra cost, with a thread for each request, so functions must be able to run
side by side. Requests and answers have descriptors of their own: what functions, C libraries and child processes print
is written to standard error, which is the log, and for them standard input is empty.

One file, standard library only: an image without hookrunner may have a copy of it. The format and the rules of each
verb are in docs/providers.md; `hookrunner cloud check` tries a provider.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TextIO, TypeVar, overload

JSON = Any
Answer = Mapping[str, JSON] | None
VerbFunction = Callable[[dict[str, JSON]], Answer]
F = TypeVar("F", bound=VerbFunction)

API_VERSION = "cloud.hookrunner.io/v1"
_INTERFACES = {
    "instances": ("instances",),
    "loadBalancer": ("lb-get", "lb-ensure", "lb-update", "lb-delete"),
    "routes": ("routes-list", "routes-apply"),
}
_VERBS = ("capabilities", *(name for names in _INTERFACES.values() for name in names), "lb-list")
_LEAVING = 4.0
"""Seconds for open requests after the end of standard input; hookrunner waits 5."""


class CloudError(Exception):
    """A call has failed. The message is for a person and may be shown in Events: no secrets. Any other exception of a
    verb counts as `Unavailable`; its traceback goes to the log."""

    code = "Unavailable"

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        """`retry_after`: seconds, for `PendingError` and `ThrottledError`."""
        self.retry_after = retry_after
        super().__init__(message)

    @property
    def document(self) -> dict[str, JSON]:
        """As an `error` of an answer, or of one entry of a list."""
        after = {} if self.retry_after is None else {"retryAfterSeconds": self.retry_after}
        return {"code": self.code, "message": str(self), **after}


class UnavailableError(CloudError):
    """The cloud does not answer, or not as expected: it is asked again later."""


class NotFoundError(CloudError):
    """Of `lb-update` and `lb-delete`: nothing is there. It does not say that a Node's machine is gone."""

    code = "NotFound"


class VerbNotImplementedError(CloudError):
    """The interface of this verb is not there."""

    code = "NotImplemented"


class ImplementedElsewhereError(CloudError):
    """Another controller takes care of this Service."""

    code = "ImplementedElsewhere"


class InvalidError(CloudError):
    """The object is at fault: nothing is tried before it changes."""

    code = "Invalid"


class UnauthenticatedError(CloudError):
    """The cloud refuses our credentials."""

    code = "Unauthenticated"


class PendingError(CloudError):
    """Not done yet, ask again after exactly so long."""

    code = "Pending"

    def __init__(self, message: str, retry_after: float) -> None:
        super().__init__(message, retry_after)


class ThrottledError(CloudError):
    """Too many requests: no call of any verb for so long, 30 s if it is not known."""

    code = "Throttled"


VerbNotImplemented = VerbNotImplementedError
ImplementedElsewhere = ImplementedElsewhereError
"""The names until 0.2.0, which leave with the release after 0.3.0."""


class CloudProgram:
    """Verbs, and the two ways of asking them. The module's `verb` and `run` are those of one such program."""

    def __init__(self) -> None:
        self._functions: dict[str, VerbFunction] = {}
        self._printing = threading.Lock()

    @overload
    def verb(self, name: F) -> F: ...

    @overload
    def verb(self, name: str) -> Callable[[F], F]: ...

    def verb(self, name: F | str) -> F | Callable[[F], F]:
        """Register a function for the verb of its name, or of this one. Raises ValueError for an unknown verb."""
        known = name if isinstance(name, str) else name.__name__.replace("_", "-")
        if known not in _VERBS:
            raise ValueError(f"'{known}' is no verb; use one of {', '.join(_VERBS)}")
        if isinstance(name, str):
            return lambda function: self._register(known, function)
        return self._register(known, name)

    def run(
        self, provider_name: str, prefixes: Sequence[str] = (), limits: Mapping[str, JSON] | None = None
    ) -> NoReturn:
        """Answer what the command line asks, and exit. `prefixes` and `limits` are for `capabilities`; another answer
        to it than this is a verb of its own."""
        self._functions.setdefault("capabilities", lambda _: self.describe(provider_name, prefixes, limits))
        (argument,) = sys.argv[1:] if len(sys.argv) == 2 else ("",)
        if not argument or argument.startswith("-"):
            print(f"usage: {sys.argv[0]} VERB|serve, with a request on standard input", file=sys.stderr)
            print(f"verbs: {', '.join(self._functions)}", file=sys.stderr)
            sys.exit(2)
        requests, answers = _take_over_streams()
        sys.exit(
            self._serve(requests, answers) if argument == "serve" else self._answer_once(argument, requests, answers)
        )

    def describe(self, name: str, prefixes: Sequence[str], limits: Mapping[str, JSON] | None) -> dict[str, JSON]:
        """The capabilities that follow from the verbs."""
        interfaces = {key: self._has(key, verbs) for key, verbs in _INTERFACES.items()}
        capabilities: dict[str, JSON] = {
            "providerName": name,
            "interfaces": interfaces,
            "features": {"serve": True},
            "limits": dict(limits or {}),
        }
        return capabilities | ({"providerIDPrefixes": list(prefixes)} if prefixes else {})

    def answer(self, request: dict[str, JSON]) -> str:
        """The answer to a request, as one line of JSON: a result, or an error."""
        head = {"apiVersion": API_VERSION, "requestID": request.get("requestID", "")}
        try:
            result = self._result(str(request.get("verb")), request.get("params") or {})
            return json.dumps({**head, "result": result}, allow_nan=False)
        except CloudError as error:
            return json.dumps({**head, "error": error.document})
        except Exception as error:
            sys.excepthook(*sys.exc_info())  # as `traceback` prints it, which takes long to import
            message = f"the provider has failed with {type(error).__name__}; its log has the traceback"
            return json.dumps({**head, "error": {"code": "Unavailable", "message": message}})

    def _register(self, name: str, function: F) -> F:
        self._functions[name] = function
        return function

    def _has(self, interface: str, verbs: Sequence[str]) -> bool:
        missing = [name for name in verbs if name not in self._functions]
        if missing and len(missing) < len(verbs):
            raise UnavailableError(f"the interface {interface} needs {', '.join(missing)}, too")
        return not missing

    def _result(self, name: str, params: dict[str, JSON]) -> Mapping[str, JSON]:
        function = self._functions.get(name)
        if function is None:
            raise VerbNotImplementedError(f"this provider has no {name}")
        result = function(params)
        return {} if result is None else result

    def _answer_once(self, name: str, requests: TextIO, answers: TextIO) -> int:
        try:
            request = json.load(requests)
        except ValueError as error:
            print(f"standard input is no request: {error}", file=sys.stderr)
            return 2
        self._print({**request, "verb": name}, answers)
        return 0

    def _serve(self, requests: TextIO, answers: TextIO) -> int:
        """Answer each line in a thread of its own, until the requests end."""
        threads: list[threading.Thread] = []
        for line in requests:
            thread = threading.Thread(target=self._print, args=(json.loads(line), answers), daemon=True)
            thread.start()
            threads = [other for other in threads if other.is_alive()] + [thread]
        for thread in threads:
            thread.join(_LEAVING)
        return 0

    def _print(self, request: dict[str, JSON], answers: TextIO) -> None:
        text = self.answer(request)
        with self._printing:
            answers.write(f"{text}\n")
            answers.flush()


def _take_over_streams() -> tuple[TextIO, TextIO]:
    """Where requests are read and answers are written from now on: descriptors that no program inherits which is
    executed. 1 leads to the log, 0 to nothing: a child, or a C library, that prints would break an answer, and a child
    that reads (as `ssh` does) would take requests of `serve`. `sys.stdout` alone would hold for Python only."""
    streams = _duplicate_streams(0, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    sys.stdout.flush()  # what was printed before `run`, and is in its buffer
    sys.stdout = sys.stderr
    return streams


def _duplicate_streams(requests: int, answers: int) -> tuple[TextIO, TextIO]:
    """Streams on duplicates of two descriptors, which no program inherits that is executed. hookrunner.provider and
    hookrunner.sdk have this text both, since an image may have a copy of one of them alone."""
    return os.fdopen(os.dup(requests), encoding="utf-8"), os.fdopen(os.dup(answers), "w", encoding="utf-8")


_PROGRAM = CloudProgram()
verb = _PROGRAM.verb
run = _PROGRAM.run
