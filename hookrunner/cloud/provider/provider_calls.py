"""Calls of the cloud's program, one after the other or side by side as the rules allow, counted and remembered.

    calls = ProviderCalls(program, children, metrics)
    routes = await calls.call(ROUTES_LIST, None)

Here an answer becomes a value or a `ProviderError`, and `Throttled` becomes a pause of all calls.
"""

import time
from collections import deque
from collections.abc import Iterable
from uuid import uuid4

from hookrunner.cloud.answers import CloudCapabilities, ErrorCode, Interface, ProviderError
from hookrunner.cloud.provider.call_gate import CallGate, CallKind
from hookrunner.cloud.provider.cloud_verb import AnyVerb, CloudVerb, Q, R
from hookrunner.cloud.provider.process_transport import ProcessTransport
from hookrunner.cloud.provider.provider_program import ProviderProgram
from hookrunner.cloud.provider.serve_transport import ServeTransport
from hookrunner.cloud.provider.verbs import CAPABILITIES
from hookrunner.cloud.provider.wire_answers import result_of
from hookrunner.cloud.provider.wire_requests import CallRequest
from hookrunner.metrics.cloud import CloudMetrics
from hookrunner.process.children import Children
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

DONE = "OK"
"""The code of a call that succeeded, for metrics and views."""
_REMEMBERED = 50


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call that has ended: when it began (epoch seconds), how long it took, its code and message."""

    verb: str
    began_at: float
    seconds: float
    code: str = DONE
    message: str = ""


class ProviderCalls:
    """The one way to the program. `recent` has the last calls, the oldest first."""

    def __init__(self, program: ProviderProgram, children: Children, metrics: CloudMetrics) -> None:
        self._program = program
        self._process = ProcessTransport(program, children)
        self.serve = ServeTransport(program, children)
        self._metrics = metrics
        self._capabilities = CloudCapabilities("", ())
        self._gate = CallGate(self._capabilities.max_parallel)
        self.recent: deque[CallRecord] = deque(maxlen=_REMEMBERED)

    @property
    def paused_until(self) -> float:
        """Epoch seconds of the end of a pause that the cloud asked for, 0 without one."""
        return self._gate.paused_until

    @property
    def credentials_problem(self) -> str:
        """That the cloud refuses the credentials, empty if a call has succeeded since; `capabilities` needs none."""
        for record in reversed(self.recent):
            if record.verb != CAPABILITIES.name and record.code in (DONE, ErrorCode.UNAUTHENTICATED):
                return f"the cloud refuses the credentials: {record.message}" if record.message else ""
        return ""

    def use_limits(self, capabilities: CloudCapabilities) -> None:
        """Call as the program says that it can be called: how many at once, how long, by `serve` or not."""
        self._capabilities = capabilities
        self._gate.set_limit(capabilities.max_parallel)

    def close(self) -> None:
        """Begin no other call; those under way go on."""
        self._gate.close()

    def pause_for(self, errors: Iterable[ProviderError | None]) -> None:
        """Pause all calls if one of these errors says so: entries of a list may, each for itself."""
        for error in errors:
            if error is not None and error.code is ErrorCode.THROTTLED:
                self._gate.pause(error.retry_after)

    async def call(self, verb: CloudVerb[Q, R], question: Q, lane: str = "") -> R:
        """The answer to a question, when it is its turn (`call_gate.py`). Raises ProviderError."""
        kind = CallKind.INSTANCES if verb.interface is Interface.INSTANCES else CallKind.OTHERS
        async with self._gate.turn(kind, lane):
            began_at, start = time.time(), time.monotonic()
            error: ProviderError | None = None
            try:
                result = await self._exchange(verb, verb.params.document(question))
                return verb.read(result, question, self._program.masked)
            except ProviderError as raised:
                error = ProviderError(raised.code, self._program.masked(raised.reason), raised.retry_after)
                self.pause_for([error])
                raise error from None
            finally:
                self._remember(verb.name, began_at, time.monotonic() - start, error)

    async def _exchange(self, verb: AnyVerb, params: JSON) -> dict[str, JSON]:
        deadline = self._capabilities.timeouts.get(verb.name, self._program.timeout)
        request = CallRequest(verb.name, uuid4().hex, deadline, self._program.cluster, params)
        is_served = self._capabilities.serve and verb is not CAPABILITIES
        transport = self.serve if is_served else self._process
        return result_of(await transport.exchange(request), verb, request.request_id, self._program.masked)

    def _remember(self, verb: str, began_at: float, seconds: float, error: ProviderError | None) -> None:
        code, message = (error.code.value, error.reason) if error else (DONE, "")
        self.recent.append(CallRecord(verb, began_at, seconds, code, message))
        self._metrics.cloud_provider_calls.inc(verb, code)
        self._metrics.cloud_provider_call_seconds.observe(seconds, verb)
