"""`hookrunner cloud adopt`: gives Nodes that joined without the kubelet's flag --cloud-provider=external the taint of
that flag, so that they are initialised like new ones.

The taint keeps Pods away until the provider has answered for the Node. One whose machine the provider does not know is
never initialised, and would keep it: so the provider is asked first, or a person names the Nodes.
"""

from collections.abc import Sequence
from typing import NamedTuple

import click

from hookrunner.cli.cloud.provider_options import of_optional_provider, probe_of
from hookrunner.cli.cluster_client import connect_cluster, of_cluster, read_cluster_settings
from hookrunner.cli.output import echo, echo_json
from hookrunner.cli.shared import quiet, run_to_end
from hookrunner.cloud.answers import InstanceAnswer, Interface, ProviderError
from hookrunner.cloud.checks.check_rules import CheckSubject
from hookrunner.cloud.checks.probe import QuestionFailed
from hookrunner.cloud.nodes.cloud_node import CloudNode, read_node
from hookrunner.cloud.nodes.node_informer import NODES
from hookrunner.cloud.provider.provider_program import ProviderProgram
from hookrunner.cloud.provider.verbs import CAPABILITIES
from hookrunner.cloud.takeover.adoption import adoptable_nodes, adoption_patch, why_left_out
from hookrunner.errors import BadInput, Denied, NotFound
from hookrunner.kube import refusals, writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import ObjectRef
from hookrunner.settings import Settings
from kubetypes.json_values import JSON

_VERBS = ("get", "list", "patch")
_NOT_ADOPTABLE = "it has a providerID, is being initialised, or is being deleted"


class AdoptedNodes(NamedTuple):
    """The names of the Nodes that are or would be tainted, and why others are not."""

    names: list[str]
    left_out: dict[str, str]


@click.command("adopt")
@click.argument("nodes", metavar="[NODE]...", nargs=-1)
@click.option("--yes", is_flag=True, help="Do it; without this flag it is only shown.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@of_optional_provider
@of_cluster
def cloud_adopt(
    nodes: tuple[str, ...], yes: bool, output: str, program: ProviderProgram | None, **cluster: str
) -> None:
    """Have Nodes initialised that have no providerID and were not tainted by their kubelet: all, or those named.

    \b
    hookrunner cloud adopt                                         which Nodes these are
    hookrunner cloud adopt --cloud-provider ./my-cloud             ... and which of them the provider knows
    hookrunner cloud adopt --cloud-provider ./my-cloud --yes       taint those that it knows
    hookrunner cloud adopt worker-1 worker-2 --yes                 taint these, without asking
    hookrunner cloud adopt -o json | jq -r '.nodes[]'

    Pods that tolerate nothing wait until the provider has answered for the Node. One that it skips or does not find
    would keep the taint for good, so --yes needs names, or a provider that is asked first. A Node with a providerID
    stays as it is: that can never be changed. It talks to the cluster itself.
    """
    if yes and not nodes and not program:
        raise BadInput(
            "--yes needs --cloud-provider, which is asked about each Node first, or the names of Nodes: one that the "
            "provider does not know would keep the taint for good; 'hookrunner cloud adopt' shows which there are"
        )
    with quiet():
        adopted = run_to_end(_adopt(read_cluster_settings(**cluster), nodes, program, yes))
    if output == "json":
        left_out = {"leftOut": adopted.left_out} if adopted.left_out else {}
        echo_json({"nodes": adopted.names, "tainted": yes, **left_out})
    else:
        _show(adopted, yes)


def _show(adopted: AdoptedNodes, tainted: bool) -> None:
    for name in adopted.names:
        echo(f"{name}: {'tainted; the provider decides' if tainted else 'would be tainted'}")
    for name, why in adopted.left_out.items():
        echo(f"{name}: left out: {why}")
    if adopted.names and not tainted:
        echo("nothing was changed; --yes does it")
    if not adopted.names and not adopted.left_out:
        echo("every Node has a providerID or is being initialised")


async def _adopt(loaded: Settings, names: Sequence[str], program: ProviderProgram | None, taints: bool) -> AdoptedNodes:
    """Taint the Nodes of these names, all without any, or only find them; the provider is asked if there is one. Raises
    KubeError, BadInput, ClickException."""
    async with connect_cluster(loaded) as (client, _):
        try:
            listed = await writes.read_list(client, ObjectRef(NODES))
            found = _find_named(listed["items"], names)
            if program:
                found = await _leave_out_unknown(found, listed["items"], program)
            if taints:
                found = found._replace(names=[name for name in found.names if await _taint(client, name)])
            return found
        except Denied as error:
            raise refusals.explain_rights(error, "adopt Nodes", refusals.rbac_rule(NODES, _VERBS)) from error


def _find_named(objects: Sequence[JSON], names: Sequence[str]) -> AdoptedNodes:
    """Of these Nodes, or of all without names. Raises BadInput for one that does not exist."""
    adoptable = [obj["metadata"]["name"] for obj in adoptable_nodes(objects)]
    if missing := sorted(set(names) - {obj["metadata"]["name"] for obj in objects}):
        raise BadInput(
            f"there is no Node {', '.join(missing)}; 'hookrunner cloud adopt' shows those that it could taint"
        )
    if not names:
        return AdoptedNodes(adoptable, {})
    chosen = [name for name in adoptable if name in names]
    return AdoptedNodes(chosen, {name: _NOT_ADOPTABLE for name in names if name not in adoptable})


async def _leave_out_unknown(found: AdoptedNodes, objects: Sequence[JSON], program: ProviderProgram) -> AdoptedNodes:
    """Without the Nodes that the provider would not initialise. Raises ClickException if it does not answer."""
    nodes = [read_node(obj) for obj in objects if obj["metadata"]["name"] in found.names]
    try:
        answers = await _ask(program, nodes)
    except (QuestionFailed, ProviderError) as error:
        raise click.ClickException(f"{program.name}: {program.masked(str(error))}; nothing was changed") from None
    left_out = {name: why for name in found.names if (why := why_left_out(answers[name]))}
    shown = {name: program.masked(why) for name, why in left_out.items()}
    return AdoptedNodes([name for name in found.names if name not in left_out], found.left_out | shown)


async def _ask(program: ProviderProgram, nodes: Sequence[CloudNode]) -> dict[str, InstanceAnswer]:
    """Its answer about each Node. Raises QuestionFailed, ProviderError."""
    probe = probe_of(program)
    capabilities = CAPABILITIES.read((await probe.ask(CAPABILITIES, {})).result(), None)
    if not capabilities.offers(Interface.INSTANCES):
        raise QuestionFailed("it does not offer the interface 'instances', and never initialises a Node")
    return await CheckSubject(probe, capabilities).ask_instances(nodes)


async def _taint(client: Client, name: str) -> bool:
    """Taint a Node; False if that is not needed any more. Raises KubeError."""
    ref = ObjectRef(NODES, "", name)

    async def attempt() -> bool:
        node = await writes.read(client, ref)
        if not adoptable_nodes([node]):
            return False
        await writes.merge_patch(client, ref, adoption_patch(node))
        return True

    try:
        return await writes.retry_on_conflict(attempt)
    except NotFound:
        return False
