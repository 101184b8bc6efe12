"""The gate of one request: mutating webhooks one after the other, later validating ones at once.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

import asyncio
import logging
from collections.abc import Sequence
from uuid import uuid4

from kubesandbox import status
from kubesandbox.kinds import Kind, Kinds
from kubesandbox.store import Key, Store
from kubesandbox.verbs.gate import Converter
from kubesandbox.verbs.rules import Object
from kubesandbox.webhooks import matching, mutations, reviews
from kubesandbox.webhooks.configurations import ConfiguredWebhook, WebhookConfigurations
from kubesandbox.webhooks.failures import Unanswered
from kubesandbox.webhooks.matching import Attempt, Undecided, matched, selected
from kubesandbox.webhooks.mutations import Unusable, internal
from kubesandbox.webhooks.reviews import BadReply, BadReview, Reply
from kubesandbox.webhooks.webhook_client import WebhookClient
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass
from kubetypes.webhook_rules import labels_of

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Around:
    """What there is around a request: the same for all."""

    store: Store
    kinds: Kinds
    configured: WebhookConfigurations
    asking: WebhookClient
    converter: Converter


@dataclass(frozen=True, slots=True)
class WebhookCall:
    """A webhook to ask, in the version that it wants."""

    hook: ConfiguredWebhook
    kind: Kind
    obj: Object | None
    old: Object | None


class RequestAdmission:
    """Asks the webhooks that a request concerns. What they warn of is added to `warnings`."""

    def __init__(self, attempt: Attempt, around: Around, warnings: list[str]) -> None:
        self._attempt = attempt
        self._around = around
        self._warnings = warnings

    async def mutate(self, obj: Object, old: Object | None) -> Object:
        """The object as the mutating webhooks leave it. Raises Refused."""
        changed = await self._in_version(self._attempt.kind, await self._mutate_in_rounds(obj, old))
        if changed == obj:
            return obj
        if changed["kind"] != self._attempt.kind.kind:
            return changed
        settled, warnings = mutations.settled(self._attempt.kind, self._attempt.where, changed, obj)
        self._warnings += warnings
        return settled

    async def check(self, obj: Object, old: Object | None) -> None:
        """Ask the validating webhooks, all at once; the first refusal counts. Raises Refused."""
        await self._validate(obj, old)

    async def check_deletion(self, old: Object) -> None:
        """Ask all that want to know of a deletion. Raises Refused."""
        for hook in self._around.configured.mutating():
            if (call := await self._call(hook, None, old)) and await self._patch(call):
                why = "attempted to modify the object, which is not supported for this operation"
                raise internal(f'admission webhook "{hook.name}" {why}')
        await self._validate(None, old)

    # ── rounds ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _mutate_in_rounds(self, obj: Object, old: Object | None) -> Object:
        """In whatever version the last webhook has seen it. Those that ask for it (`reinvocationPolicy`) are asked once
        more if another one has changed the object after them."""
        done, again = set[tuple[str, int]](), set[tuple[str, int]]()
        for first in (True, False):
            for hook in self._around.configured.mutating():
                if not (first or hook.key in again) or not (call := await self._call(hook, obj, old)):
                    continue
                assert call.obj is not None
                obj = await self._apply_webhook(call, call.obj)
                if obj != call.obj:
                    again |= done
                    done.clear()
                if hook.said.get("reinvocationPolicy") == "IfNeeded":
                    done.add(hook.key)
            if not again:
                break
        return obj

    async def _validate(self, obj: Object | None, old: Object | None) -> None:
        calls = [await self._call(hook, obj, old) for hook in self._around.configured.validating()]
        asked = [self._ask(call, mutating=False) for call in calls if call is not None]
        for result in await asyncio.gather(*asked, return_exceptions=True):
            if isinstance(result, BaseException):
                raise result

    # ── one webhook ───────────────────────────────────────────────────────────────────────────────────────────────

    async def _call(self, hook: ConfiguredWebhook, obj: Object | None, old: Object | None) -> WebhookCall | None:
        """How to ask a webhook; None if the request does not concern it. Raises Refused."""
        if not (self._selects_namespace(hook, obj) and selected(hook, obj, old)):
            return None
        kind = matched(hook, self._attempt, self._equivalents(), obj, old)
        if kind is None:
            return None
        call = WebhookCall(
            hook,
            kind,
            obj and await self._in_version(kind, obj),
            old and await self._in_version(kind, old),
        )
        return call if self._conditions_hold(call) else None

    def _equivalents(self) -> Sequence[Kind]:
        """Other versions of what the request is about."""
        mine = self._attempt.kind
        return [one for one in self._around.kinds if one.kept == mine.kept and one is not mine]

    def _selects_namespace(self, hook: ConfiguredWebhook, obj: Object | None) -> bool:
        """What is in no namespace is always selected. A Namespace is itself what is selected by."""
        attempt, namespace = self._attempt, self._attempt.namespace(obj)
        if not hook.namespaces.requirements or not (namespace or attempt.is_namespace):
            return True
        if attempt.is_namespace and not attempt.where.subresource and obj is not None:
            return hook.namespaces.matches(labels_of(obj))
        stored = self._around.store.get(Key("namespaces", "", namespace))
        return stored is not None and hook.namespaces.matches(labels_of(stored.json()))

    async def _in_version(self, kind: Kind, obj: Object) -> Object:
        """An object in another version; what is below objects (a `Scale`) has but one."""
        if obj["apiVersion"] == kind.api_version or obj["kind"] != self._attempt.kind.kind:
            return obj
        return await self._around.converter.to_version(kind, obj)

    def _conditions_hold(self, call: WebhookCall) -> bool:
        if not call.hook.said.get("matchConditions"):
            return True
        try:
            return matching.hold(call.hook, self._request(call, ""))
        except Undecided as error:
            where = self._attempt.where
            raise status.forbidden(self._attempt.kind.resource(where.name or _name(call.obj)), str(error)) from None

    def _request(self, call: WebhookCall, uid: str) -> Object:
        return reviews.request(self._attempt, call.kind, uid, call.obj, call.old)

    async def _apply_webhook(self, call: WebhookCall, obj: Object) -> Object:
        """The object of a call after its webhook. Raises Refused."""
        patch = await self._patch(call)
        return mutations.applied(patch, obj, call.kind) if patch else obj

    async def _patch(self, call: WebhookCall) -> list[JSON]:
        """The operations that a mutating webhook wants. Raises Refused."""
        reply = await self._ask(call, mutating=True)
        try:
            return mutations.operations(reply) if reply else []
        except Unusable as error:
            self._failed(call.hook, str(error))
            return []

    async def _ask(self, call: WebhookCall, *, mutating: bool) -> Reply | None:
        """What a webhook replies; None if it fails and that does not matter. Raises Refused."""
        hook, uid = call.hook, str(uuid4())
        if self._attempt.dry_run and not hook.harmless:
            raise status.bad_request(f'admission webhook "{hook.name}" does not support dry run')
        version = reviews.version_for(hook.said["admissionReviewVersions"])
        review = reviews.review(version, self._request(call, uid))
        try:
            text = await self._around.asking.ask(hook.client, review, hook.timeout)
            reply = reviews.checked(reviews.read(text, version), version, uid, mutating=mutating)
        except (Unanswered, BadReply) as error:
            self._failed(hook, f"failed to call webhook: {error}")
            return None
        except BadReview as error:
            self._failed(hook, f"received invalid webhook response: {error}")
            return None
        self._warnings += reply.warnings
        if not reply.allowed:
            raise reviews.denial(hook.name, reply.status)
        return reply

    def _failed(self, hook: ConfiguredWebhook, why: str) -> None:
        """A webhook has no answer: the request fails, or goes on, as its `failurePolicy` says. Raises Refused 500."""
        said = f'failed calling webhook "{hook.name}": {why}'
        if not hook.ignored:
            raise internal(said)
        _log.warning("a webhook failed, the request goes on: %s", said)


def _name(obj: Object | None) -> str:
    return str(((obj or {}).get("metadata") or {}).get("name", ""))
