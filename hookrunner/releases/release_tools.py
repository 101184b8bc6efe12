"""Makes the tools with which a release is written, read and removed: those of its account, or hookrunner's own.

    tools = ReleaseTools(client, kinds, discovery, readiness)
    await tools.of(options).applier.apply(objects, identity, last, options)

Records, watches and the lookup of other releases stay hookrunner's own: an account that could write records could have
objects removed that it may not touch, and one watch serves all releases.
"""

from dataclasses import replace

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


class ReleaseTools:
    """What the tools of all accounts have in common; `client` is hookrunner's own, whose tools are made once."""

    def __init__(self, client: Client, kinds: KindResolver, discovery: Discovery, readiness: Readiness) -> None:
        self.shared = SharedWrites(client)
        self._client = client
        self._kinds = kinds
        self._discovery = discovery
        self._readiness = readiness
        self._own = self._make(client)

    def of(self, options: ReleaseOptions) -> RolloutTools:
        """The tools for a release with these options."""
        if options.account is None:
            return self._own
        client = acting_as(self._client, options.account)
        return replace(self._make(client), rights=AccountRights(client, self._kinds, options))

    def _make(self, client: Client) -> RolloutTools:
        kinds, shared = self._kinds, self.shared
        contents = NamespaceContents(client, self._discovery)
        return RolloutTools(
            ManifestApplier(client, kinds, shared),
            HelmHooks(client, kinds, self._readiness),
            self._readiness,
            Teardown(client, kinds, contents, shared.removals),
        )
