"""`hookrunner cloud clean`: deletes load balancers and lets their Services go, before the manager is uninstalled."""

import asyncio
from collections.abc import Sequence

import click

from hookrunner import settings
from hookrunner.cli.cloud.cloud_start import cloud_flag, read_cloud_settings
from hookrunner.cli.cluster_client import connect_cluster
from hookrunner.cli.output import echo, echo_json
from hookrunner.cli.shared import duration_option, run_to_end
from hookrunner.cloud.takeover.cloud_cleaner import CloudCleaner, assemble_cleaner, read_removable
from hookrunner.errors import BadSetting
from hookrunner.model.status import some
from hookrunner.settings import Settings
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

_OWN = [
    click.Option(["--yes"], is_flag=True, help="Do it; without this flag it is only shown."),
    click.Option(["--with-routes"], is_flag=True, help="Delete the routes inside of --cluster-cidr, too."),
    duration_option(
        "--reserve", "60s", "How long the lease is kept from the manager afterwards, so that it can be uninstalled."
    ),
    duration_option("--timeout", "10m", "How long it may take altogether."),
    click.Option(["-o", "--output"], type=click.Choice(["text", "json"]), default="text", show_default=True),
]


@dataclass(frozen=True, slots=True)
class CleanOrder:
    """What to do: show it or do it, also with routes, and the form of the report. `reserve` and `timeout` are seconds:
    how long the lease is kept from the manager, and how long all may take."""

    yes: bool
    with_routes: bool
    output: str
    reserve: float
    timeout: float


class _CloudClean(click.Command):
    def invoke(self, ctx: click.Context) -> int:
        order = CleanOrder(**{option.name: ctx.params.pop(option.name) for option in _OWN if option.name})
        loaded = read_cloud_settings(ctx)
        if not loaded.cloud.on:
            raise BadSetting("--cloud-provider: it is missing; give the provider whose load balancers are deleted")
        if order.with_routes and not loaded.cloud.cidrs:
            raise BadSetting("--cluster-cidr: it is missing; --with-routes deletes only routes inside of it")
        return run_to_end(_clean(loaded, order))


async def _clean(loaded: Settings, order: CleanOrder) -> int:
    """Show what would go, or take it away. The exit code."""
    async with connect_cluster(loaded) as (client, connection):
        keys = [service.key for service in await read_removable(client, loaded)]
    if order.output == "text":
        for key in keys:
            echo(f"Service {key}: its load balancer {'goes' if order.yes else 'would go'}")
    if not order.yes:
        _tell(describe_plan(bool(keys), order.with_routes), to_report(keys, done=False, left=()), order)
        return 0
    if not loaded.leader_election.on:
        echo("without an election a manager that runs would make everything anew: stop it first", err=True)
    async with assemble_cleaner(loaded, connection, order.with_routes, order.reserve) as cleaner:
        done = await _run(cleaner, order.timeout)
        orphans = [orphan.name for orphan in cleaner.orphans]
        _tell(describe_end(orphans) if done else "", to_report(keys, done, cleaner.left, orphans), order)
    return 0 if done else 1


def to_report(services: Sequence[str], done: bool, left: Sequence[str], orphans: Sequence[str] = ()) -> JSON:
    """For `-o json`: the Services that it is about, whether all is gone, what is left and why, and the load balancers
    that belong to no Service."""
    return {"services": list(services), "done": done, "left": list(left), "orphans": list(orphans)}


def describe_end(orphans: Sequence[str]) -> str:
    """What was done, and which load balancers stay because they belong to no Service."""
    if not orphans:
        return "nothing is left"
    return f"nothing of Services is left; load balancers without a Service stay in the cloud: {some(orphans)}"


def _tell(sentence: str, report: JSON, order: CleanOrder) -> None:
    if order.output == "json":
        echo_json(report)
    elif sentence:
        echo(sentence)


def describe_plan(has_services: bool, with_routes: bool) -> str:
    """What --yes would do with what was shown."""
    deleted = ["these"] * has_services + ["the routes of the cluster"] * with_routes
    if not deleted:
        return "no Service has a load balancer, there is nothing to delete"
    return f"nothing was changed; --yes deletes {', and '.join(deleted)}, after taking the lease over from the manager"


async def _run(cleaner: CloudCleaner, within: float) -> bool:
    """Take everything away; False if something is left, which is named."""
    try:
        async with asyncio.timeout(within or None):
            await cleaner.run()
    except TimeoutError:
        for line in cleaner.left:
            echo(f"left: {line}", err=True)
        echo(f"not done within {within:g} s; fix what is named, and run it again", err=True)
        return False
    return True


cloud_clean = _CloudClean(
    "clean",
    params=[*_OWN, *(cloud_flag(option) for option in settings.cloud_options() if option.flag != "timeout")],
    help="""Delete all load balancers, and let their Services go: before the manager is uninstalled.

    \b
    hookrunner cloud clean --cloud-provider ./my-cloud          which Services these are
    hookrunner cloud clean --cloud-provider ./my-cloud --yes    delete their load balancers and finalizers
    hookrunner cloud clean --cloud-provider ./my-cloud -o json | jq -r '.services[]'
    hookrunner cloud clean --cloud-provider ./my-cloud --yes --with-routes --cluster-cidr 10.244.0.0/16

    Give it the flags of `cloud start`. It takes the lease over, waits until a running manager has stopped for certain,
    and repeats what fails. Services of the type LoadBalancer stay, without addresses. It ends with 1 if something is
    left, which it names; load balancers without a Service are shown by `hookrunner cloud orphans`.""",
)
