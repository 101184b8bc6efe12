"""`hookrunner addon list`, `versions` and `objects`: of a running hookrunner, over its debug socket, or of files."""

import time
from collections.abc import Iterator, Sequence
from urllib.parse import quote, urlencode

import click
import orjson

from hookrunner.cli.addons.addon_sources import (
    ADDONS_DIR,
    AddonDirectories,
    ClusterFlags,
    Source,
    for_a_cluster,
    sourced,
)
from hookrunner.cli.addons.instance_targets import complete_addons, of_instance
from hookrunner.cli.debug import Sockets, ask, at
from hookrunner.cli.output import age, echo, echo_json, echo_styled, show, to_table, unseen
from hookrunner.cli.sources import CLUSTER_TIMEOUT, require_files
from hookrunner.cli.unit_targets import UnitTarget
from kubetypes.json_values import JSON

_INSTANCE_TITLES = ("INSTANCE", "NAMESPACE", "VERSION", "PHASE", "OBJECTS", "UPDATE", "REVISION", "AGE", "WHY")
_ADDON_TITLES = ("ADDON", "KIND", "GROUP", "CHANNEL", "INSTANCES", "DESCRIPTION")
_VERSION_TITLES = ("VERSION", "KUBERNETES", "FITS", "CHANNELS", "DIGEST")
_SHORT_DIGEST = 19
_LONGEST_WHY = 400


@click.command("list")
@click.option(
    "-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True, help="Its form."
)
@sourced
def addon_list(output: str, source: Source) -> None:
    """Show the instances of a running hookrunner; with --addons-dir the addons in directories.

    \b
    hookrunner addon list
    hookrunner addon list -o json | jq -r '.instances[] | select(.healthy | not) | .message'
    hookrunner addon list --addons-dir addons
    hookrunner addon list --addons-dir addons -o json | jq -r '.addons[].name'

    WHY says what keeps an instance from being healthy, that an earlier revision was brought back, or since when the API
    server does not show it: the rest is what was seen last. Directories that cannot be offered are named on standard
    error, with the reason.
    """
    if isinstance(source, AddonDirectories):
        # 0.3 s, which a look at a running hookrunner need not pay.
        from hookrunner.cli.addons import addon_offline as offline

        text = offline.listed(source, "json" if output == "table" else output)
    else:
        text = ask(source, f"/addon/list.{'json' if output == 'table' else output}")
    if output == "table":
        _show_table(orjson.loads(text), time.time())
    else:
        show(text)


def _show_table(document: JSON, now: float) -> None:
    """Print instances, or the addons in files; `now` is in epoch seconds."""
    if "instances" in document:
        echo_styled(to_table(_INSTANCE_TITLES, [tuple(_instance_cells(row, now)) for row in document["instances"]]))
    else:
        echo_styled(to_table(_ADDON_TITLES, [tuple(map(str, row.values())) for row in document["addons"]]))
    for addon in document["rejected"]:
        echo(f"rejected: {addon['name']}: {addon['problem']}", err=True)


def _instance_cells(row: JSON, now: float) -> Iterator[str]:
    objects = row["objects"]
    yield f"{row['addon']}/{row['name']}"
    yield row["namespace"] or "-"
    yield row["version"] or "-"
    yield row["phase"] or "-"
    yield f"{objects.get('Current', 0)}/{sum(objects.values())}" if objects else "-"
    yield row["available"] or "-"
    yield str(row["revision"] or "-")
    yield age(now - row["created"]) if row["created"] else "-"
    message = _cut(" ".join(row["message"].split())) if row["pinned"] or not row["healthy"] else ""
    yield "; ".join(filter(None, (unseen(row), message))) or "-"


def _cut(why: str) -> str:
    """The first words of a reason; `-o json` and the status have all."""
    return why if len(why) <= _LONGEST_WHY else f"{why[: _LONGEST_WHY - 1]}…"


@click.command("versions")
@click.argument("name", metavar="ADDON", shell_complete=complete_addons)
@sourced
@for_a_cluster
@click.option(
    "--channel", "channels", multiple=True, metavar="NAME", help="Look at this channel, too, where none can be listed."
)
@click.option("-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True)
def addon_versions(name: str, source: Source, cluster: ClusterFlags, channels: tuple[str, ...], output: str) -> None:
    """Show the versions that an addon has packages of, and the channels that lead to them.

    \b
    hookrunner addon versions coredns                              what fits the cluster of a running hookrunner
    hookrunner addon versions coredns --addons-dir addons
    hookrunner addon versions kube-proxy --addons-dir addons --kube-version 1.33   which fit this cluster
    hookrunner addon versions coredns --addons-dir addons -o json | jq -r .channels.stable
    """
    require_files(cluster, source, ADDONS_DIR)
    if isinstance(source, AddonDirectories):
        # 0.3 s, which a look at a running hookrunner need not pay.
        from hookrunner.cli.addons import addon_offline as offline

        offer = offline.versions(source, name, cluster, channels)
    else:
        offer = orjson.loads(ask(source, _versions_path(name, channels), seconds=CLUSTER_TIMEOUT))
    if output == "json":
        echo_json(offer)
        return
    echo_styled(to_table(_VERSION_TITLES, list(_version_rows(offer))))
    for problem in (*offer["problems"].values(), *(row["problem"] for row in offer["versions"] if "problem" in row)):
        echo(problem, err=True)
    if not offer["versions"] and not offer["problems"]:
        echo(f"the source has no versions of {offer['component']}, and no channel names one", err=True)


def _versions_path(name: str, channels: Sequence[str]) -> str:
    query = urlencode([("channel", channel) for channel in channels])
    return f"/addon/{quote(name, safe='')}/versions.json" + f"?{query}" * bool(query)


def _version_rows(offer: JSON) -> Iterator[tuple[str, ...]]:
    for row in offer["versions"]:
        channels = [name for name, version in offer["channels"].items() if version == row["version"]]
        fits = "invalid" if "problem" in row else "yes" if row["fits"] else "no"
        yield row["version"], row["kubernetes"], fits, ",".join(channels), row["digest"][:_SHORT_DIGEST]


@click.command("objects")
@of_instance
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
@at
def addon_objects(target: UnitTarget, output: str, sockets: Sockets) -> None:
    """Show which objects an instance has in the cluster, each with its health.

    \b
    hookrunner addon objects coredns/default
    hookrunner addon objects coredns/default -o json | jq -r '.objects[] | select(.status != "Current") | .object'

    The health is that of kstatus: Current, InProgress, Failed, Terminating, NotFound, Unknown.
    """
    text = ask(sockets, target.path(f"objects.{'json' if output == 'table' else output}"))
    if output != "table":
        show(text)
        return
    rows = [(row["object"], row["status"], row["message"] or "-") for row in orjson.loads(text)["objects"]]
    echo_styled(to_table(("OBJECT", "STATUS", "WHY"), rows))
