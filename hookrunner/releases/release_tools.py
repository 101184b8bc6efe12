"""Makes the tools with which a release is written, read and removed: those of its account, or hookrunner's own.

    tools = ReleaseTools(client, kinds, discovery, readiness, SharedWrites(client))
    await tools.of(options).applier.apply(objects, identity, last, options)

Records, watches and the lookup of other releases stay hookrunner's own: an account that could write records could have
objects removed that it may not touch, and one watch serves all releases.
"""

from hookrunner.kube.client import Client
from hookrunner.kube.discovery import Discovery
from hookrunner.kube.impersonation import acting_as
from hookrunner.model.releases import ReleaseOptions
from hookrunner.releases.helm_hooks import HelmHooks
from hookrunner.releases.manifest_applier import ManifestApplier
from hookrunner.releases.manifest_objects import KindResolver
from hookrunner.releases.objects.account_rights import AccountRights
from hookrunner.releases.objects.object_writer import SharedWrites
from hookrunner.releases.objects.teardown import NamespaceContents, Teardown
from hookrunner.releases.readiness import Readiness
from hookrunner.releases.rollout import RolloutTools
from kubetypes.light_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReleaseTools:
    """What the tools of all accounts have in common; `client` is hookrunner's own."""

    client: Client
    kinds: KindResolver
    discovery: Discovery
    readiness: Readiness
    shared: SharedWrites

    def of(self, options: ReleaseOptions) -> RolloutTools:
        """The tools for a release with these options."""
        client, kinds, shared = acting_as(self.client, options.account), self.kinds, self.shared
        contents = NamespaceContents(client, self.discovery)
        return RolloutTools(
            ManifestApplier(client, kinds, shared),
            HelmHooks(client, kinds, self.readiness),
            self.readiness,
            Teardown(client, kinds, contents, shared.removals),
            AccountRights(client, kinds, options) if options.account else None,
        )
