"""What the release of an instance is made from, as convergence asks for it (`convergence.plan.ReleaseBuild`): the
package that a run has chosen, built with the values that its hooks leave."""

from contextlib import suppress
from dataclasses import dataclass, replace

from hookrunner.addons.build_preparation import PreparedBuild
from hookrunner.addons.build_request import BuildTerms, build_digest, looks_up, reads_capabilities
from hookrunner.addons.object_builder import ObjectBuilder
from hookrunner.errors import BadChart, BadPatch, RunBlocked
from hookrunner.model.releases import ReleaseInputs, RenderedChart
from hookrunner.values.section_store import SectionStore
from kubetypes.json_values import JSON


@dataclass(frozen=True, slots=True)
class BuildTools:
    """What all instances are built with. `terms` are the same for all builds."""

    builder: ObjectBuilder
    store: SectionStore
    terms: BuildTerms


@dataclass(frozen=True, slots=True)
class InstanceBuild:
    """The build of one run."""

    prepared: PreparedBuild
    tools: BuildTools

    @property
    def reads_capabilities(self) -> bool:
        """May its objects depend on what the cluster serves?"""
        with suppress(BadChart):
            return reads_capabilities(self.prepared.package, self.prepared.chosen.directory)
        return False

    async def read_inputs(self) -> ReleaseInputs:
        """The digest of package, patches, values and, if a template reads them, capabilities. Raises BadValues,
        BadChart, RenderFailed."""
        chosen, request = self.prepared.chosen, self.prepared.request(self.tools.store, self.tools.terms)
        return ReleaseInputs(build_digest(request), looks_up(chosen.package, chosen.directory))

    async def render(self, is_first: bool) -> RenderedChart:
        """The objects. Raises BadValues, BadChart, RenderFailed, KubeError; RunBlocked if one of them needs a newer
        hookrunner, or if a patch does not fit: to try it again helps only when the instance, its package or a value
        changes."""
        try:
            built = await self.tools.builder.build(self.prepared.request(self.tools.store, self.tools.terms, is_first))
        except BadPatch as error:
            raise RunBlocked(str(error)) from error
        if obstacle := self.prepared.refusal_of(built):
            raise RunBlocked(obstacle.message, obstacle)
        patched: dict[tuple[str, ...], JSON] = {(*identity,): obj for identity, obj in built.patched.items()}
        return replace(built.rendered, unpatched=patched, unmatched=built.unmatched)
