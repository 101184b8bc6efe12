"""Calls of the verbs that the program has.

    state = await verbs.ask(LB_GET, request)

A verb whose interface the program does not have is not called. `NotImplemented` of a verb switches its interface off
until the next `capabilities`.
"""

from collections.abc import AsyncGenerator

from hookrunner.cloud.answers import CloudCapabilities, ErrorCode, ProviderError
from hookrunner.cloud.provider.cloud_verb import CloudVerb, Q, R
from hookrunner.cloud.provider.provider_calls import ProviderCalls
from hookrunner.cloud.provider.wire_answers import unavailable
from hookrunner.waits import Notifier


class VerbCalls:
    """Asks over `calls`, as the capabilities allow that it was given last."""

    def __init__(self, calls: ProviderCalls) -> None:
        self.calls = calls
        self._capabilities: CloudCapabilities | None = None
        self._changed = Notifier()

    @property
    def capabilities(self) -> CloudCapabilities:
        """What the program said last, without interfaces that turned out not to be there. Raises ProviderError before
        its first answer."""
        if self._capabilities is None:
            raise unavailable("the provider has not answered `capabilities` yet")
        return self._capabilities

    @property
    def max_batch(self) -> int:
        """The number of Nodes that one call may be about."""
        return self._capabilities.max_batch if self._capabilities else 1

    def adopt(self, capabilities: CloudCapabilities, is_replaced: bool) -> None:
        """Call as the program says from now on. `is_replaced`: its file is another one."""
        self._use(capabilities)
        self.calls.use_limits(capabilities)
        if is_replaced or not capabilities.serve:
            self.calls.serve.renew()

    async def follow_capabilities(self) -> AsyncGenerator[CloudCapabilities, None]:
        """The capabilities as soon as they are known, and whenever they change."""
        shown: CloudCapabilities | None = None
        while True:
            if self._capabilities and self._capabilities != shown:
                shown = self._capabilities
                yield shown
            else:
                await self._changed.next()

    async def ask(self, verb: CloudVerb[Q, R], question: Q, lane: str | None = None) -> R:
        """The answer to a question; `lane` if it is another one than the verb's. Raises ProviderError."""
        capabilities = self.capabilities
        if verb.interface and not capabilities.offers(verb.interface):
            raise ProviderError(ErrorCode.NOT_IMPLEMENTED, f"the provider does not have the interface of {verb}")
        try:
            return await self.calls.call(verb, question, verb.lane(question) if lane is None else lane)
        except ProviderError as error:
            if error.code is ErrorCode.NOT_IMPLEMENTED and verb.interface:
                self._use(self.capabilities.without(verb.interface))
            raise

    def _use(self, capabilities: CloudCapabilities) -> None:
        self._capabilities = capabilities
        self._changed.notify()
