"""`hookrunner cloud adopt`: gives Nodes that joined without the kubelet's flag --cloud-provider=external the taint of
that flag, so that they are initialised like new ones."""

import click

from hookrunner.cli.cluster_client import connect_cluster, of_cluster, read_cluster_settings
from hookrunner.cli.output import echo, echo_json
from hookrunner.cli.shared import quiet, run_to_end
from hookrunner.cloud.adoption import adoptable_nodes, adoption_patch
from hookrunner.cloud.node_informer import NODES
from hookrunner.errors import Conflict, Denied, NotFound
from hookrunner.kube import refusals, writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import ObjectRef
from hookrunner.settings import Settings

_ATTEMPTS = 5
_VERBS = ("get", "list", "patch")


@click.command("adopt")
@click.option("--yes", is_flag=True, help="Do it; without this flag it is only shown.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@of_cluster
def cloud_adopt(yes: bool, output: str, kube_config: str, kube_context: str) -> None:
    """Have Nodes initialised that have no providerID and were not tainted by their kubelet.

    \b
    hookrunner cloud adopt          which Nodes these are
    hookrunner cloud adopt --yes    taint them: Pods that tolerate nothing wait until the provider has answered
    hookrunner cloud adopt -o json | jq -r '.nodes[]'

    It talks to the cluster itself. A Node with a providerID stays as it is: that can never be changed.
    """
    with quiet():
        names = run_to_end(_adopt(read_cluster_settings(kube_config, kube_context), yes))
    if output == "json":
        echo_json({"nodes": names, "tainted": yes})
        return
    for name in names:
        echo(f"{name}: {'tainted, it will be initialised' if yes else 'would be tainted'}")
    if not names:
        echo("every Node has a providerID or is being initialised")
    elif not yes:
        echo("nothing was changed; --yes does it")


async def _adopt(loaded: Settings, yes: bool) -> list[str]:
    """The names of the Nodes. Raises KubeError."""
    async with connect_cluster(loaded) as client:
        try:
            listed = await writes.read_list(client, ObjectRef(NODES))
            names = [node["metadata"]["name"] for node in adoptable_nodes(listed["items"])]
            return [name for name in names if await _taint(client, name)] if yes else names
        except Denied as error:
            raise refusals.explain_rights(error, "adopt Nodes", refusals.rbac_rule(NODES, _VERBS)) from error


async def _taint(client: Client, name: str) -> bool:
    """Taint a Node; False if that is not needed any more. Raises KubeError."""
    ref = ObjectRef(NODES, "", name)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            node = await writes.read(client, ref)
            if not adoptable_nodes([node]):
                return False
            await writes.merge_patch(client, ref, adoption_patch(node))
        except NotFound:
            return False
        except Conflict:
            if attempt == _ATTEMPTS:
                raise
        else:
            return True
    raise AssertionError("the last attempt returns or raises")
