"""Which webhooks there are: the entries of the configurations in the store, in the order in which they are asked.

https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/
"""

from kubesandbox.query.selectors import LabelSelector, from_object
from kubesandbox.store import Store
from kubesandbox.verbs.rules import Object
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

GROUP = "admissionregistration.k8s.io"
MUTATING, VALIDATING = f"mutatingwebhookconfigurations.{GROUP}", f"validatingwebhookconfigurations.{GROUP}"
WITHOUT_EFFECTS = ("None", "NoneOnDryRun")


@dataclass(frozen=True, slots=True)
class ConfiguredWebhook:
    """One entry of a configuration, defaults filled in. `key` tells it from all others."""

    key: tuple[str, int]
    said: Object
    namespaces: LabelSelector
    objects: LabelSelector

    @property
    def name(self) -> str:
        """As refusals name it."""
        return str(self.said["name"])

    @property
    def client(self) -> JSON:
        """Its `clientConfig`."""
        return self.said["clientConfig"]

    @property
    def ignored(self) -> bool:
        """Whether the request goes on if it cannot be asked."""
        return bool(self.said.get("failurePolicy") == "Ignore")

    @property
    def timeout(self) -> int:
        """Seconds."""
        return int(self.said.get("timeoutSeconds", 10))

    @property
    def harmless(self) -> bool:
        """Whether it may be asked in a dry run."""
        return self.said.get("sideEffects") in WITHOUT_EFFECTS


class WebhookConfigurations:
    """The webhooks of a store as it is now. They are read again when a configuration has changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: dict[str, tuple[list[int], list[ConfiguredWebhook]]] = {}

    def there(self) -> bool:
        """Whether there is any configuration."""
        return bool(self._store.select(MUTATING) or self._store.select(VALIDATING))

    def mutating(self) -> list[ConfiguredWebhook]:
        """By the name of their configuration, and as they stand in it."""
        return self._of(MUTATING)

    def validating(self) -> list[ConfiguredWebhook]:
        """By the name of their configuration, and as they stand in it."""
        return self._of(VALIDATING)

    def _of(self, resource: str) -> list[ConfiguredWebhook]:
        stored = self._store.select(resource)
        revisions = [one.revision for one in stored]
        known = self._known.get(resource)
        if known is None or known[0] != revisions:
            found = [hook for one in stored for hook in _webhooks(one.key.name, one.json())]
            known = self._known[resource] = (revisions, found)
        return known[1]


def _webhooks(configuration: str, obj: Object) -> list[ConfiguredWebhook]:
    return [
        ConfiguredWebhook(
            (configuration, at),
            said,
            from_object(said.get("namespaceSelector") or {}),
            from_object(said.get("objectSelector") or {}),
        )
        for at, said in enumerate(obj.get("webhooks") or ())
    ]
