"""Objects in other versions of their kind: as the definition says, only their `apiVersion` changes, or a webhook is
asked, for all objects of a list at once.

What a webhook has made of an object in the store is remembered as long as that is there: a real API server has a cache
for each version, too.
https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#webhook-conversion
"""

from collections.abc import Sequence
from http import HTTPStatus
from uuid import uuid4

from kubesandbox.kinds import Kind
from kubesandbox.status import Refused
from kubesandbox.store import Stored
from kubesandbox.structural import versions
from kubesandbox.verbs import events, reading
from kubesandbox.verbs.rules import Object
from kubesandbox.webhooks import conversion_replies
from kubesandbox.webhooks.conversion_replies import BadObject
from kubesandbox.webhooks.failures import Unanswered
from kubesandbox.webhooks.reviews import BadReply, BadReview, version_for
from kubesandbox.webhooks.webhook_client import WebhookClient
from kubetypes.json_values import written

SECONDS = 30
"""How long a webhook may take; a definition cannot say."""


class WebhookConverter:
    """A `Converter` that asks."""

    def __init__(self, asking: WebhookClient) -> None:
        self._asking = asking

    async def prepare(self, kind: Kind, stored: Sequence[Stored]) -> None:
        """Have converted what is not in the version of `kind`. Raises Refused 500."""
        if kind.webhook is None:
            return
        missing = [one for one in stored if one not in kind.converted and not reading.in_version(kind, one)]
        objects = [versions.known(one.json(), kind) for one in missing]
        for one, obj in zip(missing, await self._convert(kind, objects), strict=True):
            kind.converted[one] = written(obj)

    async def to_stored_version(self, kind: Kind, obj: Object) -> Object:
        """An object in the version in which it is stored. Raises Refused 500."""
        if kind.webhook is None or kind.version == kind.storage:
            return obj
        (made,) = await self._convert(versions.in_version(kind, kind.storage), [obj])
        return made

    async def to_version(self, kind: Kind, obj: Object) -> Object:
        """An object in the version of `kind`. Raises Refused 500."""
        if kind.webhook is not None:
            (made,) = await self._convert(kind, [obj])
            return made
        changed: Object = versions.as_version(obj, kind) if kind.custom else events.as_version(obj, kind)
        return changed

    async def _convert(self, kind: Kind, objects: Sequence[Object]) -> list[Object]:
        """Objects in the version of `kind`, none of which is in it already."""
        if not objects:
            return []
        assert kind.webhook is not None
        about = f"conversion webhook for {_shown(objects)}"
        try:
            found = await self._ask(kind.webhook, objects, kind.api_version)
        except (Unanswered, BadReply, BadReview) as error:
            raise _failed(f"{about} failed: {error}") from None
        if len(found) != len(objects):
            raise _failed(f"{about} returned {len(found)} objects, expected {len(objects)}")
        made = []
        for at, (before, after) in enumerate(zip(objects, found, strict=True)):
            try:
                made.append(
                    _ordered(versions.fitted(conversion_replies.checked(before, after, kind.api_version), kind))
                )
            except BadObject as error:
                raise _failed(error.told(about, at, len(objects))) from None
        return made

    async def _ask(self, webhook: Object, objects: Sequence[Object], wanted: str) -> list[Object]:
        version, uid = version_for(webhook["conversionReviewVersions"]), str(uuid4())
        review = conversion_replies.review(version, uid, objects, wanted)
        text = await self._asking.ask(webhook["clientConfig"], review, SECONDS)
        return conversion_replies.read(text, version, uid)


def _ordered(obj: Object) -> Object:
    """What it is stands first, as in everything that is stored."""
    first = {key: obj[key] for key in ("kind", "apiVersion", "metadata")}
    return first | obj


def _shown(objects: Sequence[Object]) -> str:
    """`example.com/v1, Kind=Cat`, or `CatList` for several."""
    return f"{objects[0]['apiVersion']}, Kind={objects[0]['kind']}{'List' if len(objects) > 1 else ''}"


def _failed(message: str) -> Refused:
    return Refused(HTTPStatus.INTERNAL_SERVER_ERROR, "", message)
