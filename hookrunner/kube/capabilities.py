"""What templates may ask of a cluster: its version and every API version and kind that it serves, as Helm's own
`.Capabilities` shows them (https://helm.sh/docs/chart_template_guide/builtin_objects/)."""

import asyncio
from collections.abc import Iterator

from hookrunner.kube.client import Client
from hookrunner.model.releases import Capabilities
from hookrunner.model.resources import JSON

_AGGREGATED = ",".join(
    f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList" for version in ("v2", "v2beta1")
)


async def capabilities(client: Client) -> Capabilities:
    """What the cluster serves now; versions `group/version` and `group/version/Kind`, sorted. Raises KubeError."""
    version, core, groups = await asyncio.gather(
        client.get("/version"), _groups(client, "/api"), _groups(client, "/apis")
    )
    return Capabilities(version["gitVersion"], tuple(sorted(set(core) | set(groups))))


async def _groups(client: Client, root: str) -> list[str]:
    answer = await client.get(root, accept=f"{_AGGREGATED},application/json")
    if answer["kind"] == "APIGroupDiscoveryList":
        return [name for group in answer["items"] for name in _named(group)]
    versions = answer.get("versions") or [one for group in answer.get("groups", ()) for one in group["versions"]]
    names = [one if isinstance(one, str) else one["groupVersion"] for one in versions]
    lists = await asyncio.gather(*(client.get(f"{root}/{name}") for name in names))
    return [*names, *(f"{one['groupVersion']}/{resource['kind']}" for one in lists for resource in one["resources"])]


def _named(group: JSON) -> Iterator[str]:
    """The versions of one group and the kinds in each."""
    name = group["metadata"].get("name", "")
    for version in group["versions"]:
        api_version = f"{name}/{version['version']}" if name else version["version"]
        yield api_version
        resources = version.get("resources", ())
        every = (one for resource in resources for one in (resource, *resource.get("subresources", ())))
        kinds = (one.get("responseKind", {}).get("kind") for one in every)
        yield from (f"{api_version}/{kind}" for kind in kinds if kind)
