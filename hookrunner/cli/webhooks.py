"""`hookrunner webhooks …`: what hookrunner has registered in a cluster, shown and taken away, from wherever one is.

Nothing here asks a running hookrunner: it may be gone, which is when this is needed.
"""

import asyncio
from collections.abc import Iterator, Sequence

import click

from hookrunner import settings
from hookrunner.cli.cluster_client import connect_cluster
from hookrunner.cli.output import echo, echo_json
from hookrunner.cli.shared import run_to_end
from hookrunner.cli.start import click_option, given
from hookrunner.kube import writes
from hookrunner.kube.client import Client
from hookrunner.kube.writes import ListOptions, ObjectRef
from hookrunner.registration.desired import no_registrations
from hookrunner.registration.reconcile import Claim, LostRace, WriteStep, next_step, read_registration, take_step
from hookrunner.registration.removal import LABELLED, find_possible_leftovers
from hookrunner.registration.webhook_objects import (
    DEFINITION,
    MANAGED_BY,
    MUTATING,
    US,
    VALIDATING,
    TrustedCertificates,
    WebhookConfiguration,
    WebhookObject,
)
from hookrunner.settings import Settings
from kubetypes.json_values import JSON

_LABELS = {VALIDATING: f"{MANAGED_BY}={US}", MUTATING: f"{MANAGED_BY}={US}", DEFINITION: LABELLED}
"""Labels that every installation of hookrunner puts on the objects in which it registers itself."""

_CLUSTER = ("kube-config", "kube-context")
_NAMES = (
    "compat",
    "namespace",
    "validating-webhook-configuration-name",
    "validating-webhook-service-name",
    "conversion-webhook-service-name",
    "webhook-url",
)
"""Flags of `start` by which it finds the cluster, and by which it names what it registers and where that leads."""

_BY_HAND = Claim("", by_hand=True)
_ATTEMPTS = 5
"""Writes to one object. A running hookrunner may register itself again after each of them."""
_RETURN = 1.0
"""Seconds within which a running hookrunner repairs what was removed."""


def _flags(*names: str) -> list[click.Parameter]:
    """Flags of `start`, which are read as there."""
    return [click_option(option) for option in settings.options() if option.flag in names]


def _loaded(ctx: click.Context) -> Settings:
    return settings.load(given(ctx), ctx.find_root().info_name or "")


@click.group()
def webhooks() -> None:
    """See and remove what hookrunner has registered in a cluster.

    \b
    hookrunner webhooks list                                what leads to any hookrunner
    hookrunner webhooks remove --namespace hooks --dry-run  what would go
    """


class _List(click.Command):
    """Looks and prints."""

    def invoke(self, ctx: click.Context) -> int:
        output = ctx.params.pop("output")
        rows = run_to_end(_list_webhooks(_loaded(ctx)))
        if output == "json":
            echo_json(rows)
        else:
            echo("\n".join(_lines(rows)) or "no hookrunner has registered anything in this cluster")
        return 0


async def _list_webhooks(loaded: Settings) -> list[JSON]:
    """All objects that lead to a hookrunner, and the targets of their webhooks."""
    async with connect_cluster(loaded) as (client, _):
        lists = [
            (kind, await writes.read_list(client, ObjectRef(kind), ListOptions(labels=label)))
            for kind, label in _LABELS.items()
        ]
    return [
        {"kind": resource.kind, "name": obj["metadata"]["name"], "webhooks": list(_webhooks(obj))}
        for resource, listed in lists
        for obj in listed["items"]
    ]


def _webhooks(obj: JSON) -> Iterator[JSON]:
    for entry in obj.get("webhooks", []):
        yield {
            "name": entry["name"],
            "failurePolicy": entry["failurePolicy"],
            "leadsTo": _place(entry["clientConfig"]),
        }
    if conversion := obj.get("spec", {}).get("conversion", {}).get("webhook"):
        yield {"leadsTo": _place(conversion.get("clientConfig", {}))}


def _clients(obj: JSON) -> list[JSON]:
    """The client configurations in an object."""
    conversion = obj.get("spec", {}).get("conversion", {}).get("webhook")
    return [entry.get("clientConfig", {}) for entry in (obj.get("webhooks") or filter(None, [conversion]))]


def _given(registration: WebhookObject, client_config: JSON) -> str:
    """The flags by which an installation that this leads to is meant."""
    if service := client_config.get("service"):
        kind = "conversion" if registration.resource == DEFINITION else "validating"
        return f"--namespace {service['namespace']} --{kind}-webhook-service-name {service['name']}"
    return f"--webhook-url {'/'.join(str(client_config.get('url', 'URL')).split('/')[:3])}"


def _place(client_config: JSON) -> str:
    if service := client_config.get("service"):
        return f"Service {service['namespace']}/{service['name']}{service.get('path', '')}"
    return str(client_config.get("url", "nowhere"))


def _lines(rows: Sequence[JSON]) -> Iterator[str]:
    for obj in rows:
        yield f"{obj['kind']} {obj['name']}"
        for webhook in obj["webhooks"]:
            named = [webhook[key] for key in ("name", "failurePolicy") if key in webhook]
            yield f"  {' '.join([*named, '→', webhook['leadsTo']])}"


webhooks.add_command(
    _List(
        "list",
        params=[
            *_flags(*_CLUSTER),
            click.Option(["-o", "--output"], type=click.Choice(["text", "json"]), default="text", show_default=True),
        ],
        help="""List what all hookrunners have registered in the cluster.

    \b
    hookrunner webhooks list --kube-context production
    hookrunner webhooks list -o json | jq '.[].webhooks[].leadsTo'""",
    )
)


class _Remove(click.Command):
    """Removes registrations, looks again, and prints the outcome for each object."""

    def invoke(self, ctx: click.Context) -> int:
        dry_run = ctx.params.pop("dry_run")
        return run_to_end(_remove(_loaded(ctx), dry_run))


async def _remove(loaded: Settings, dry_run: bool) -> int:
    async with connect_cluster(loaded) as (client, connection):
        ours = find_possible_leftovers(client, no_registrations(loaded, connection.namespace))
        gone = [registration async for registration in ours if await _remove_own(client, registration, dry_run)]
        if not gone:
            echo("nothing of this installation is registered; `hookrunner webhooks list` shows all that are")
        if dry_run or not gone:
            return 0
        await asyncio.sleep(_RETURN)
        back = [
            registration
            for registration in gone
            if isinstance(
                next_step(registration, await read_registration(client, registration), TrustedCertificates(), _BY_HAND),
                WriteStep,
            )
        ]
    for registration in back:
        echo(f"Error: {_named(registration)} is back: a running hookrunner repairs it. Stop that one first", err=True)
    return 1 if back else 0


async def _remove_own(client: Client, registration: WebhookObject, dry_run: bool) -> bool:
    """Remove this installation's webhooks from an object, and print that. False if it has none."""
    existing = await read_registration(client, registration)
    step = next_step(registration, existing, TrustedCertificates(), _BY_HAND)
    if not isinstance(step, WriteStep):
        if existing and (elsewhere := _clients(existing)):
            left = f"left as it is, it leads to {_place(elsewhere[0])} and not to {registration.target}"
            advice = f"if that is this installation, add {_given(registration, elsewhere[0])}"
            echo(f"{_named(registration)}: {left}; {advice}")
        return False
    for _ in range(0 if dry_run else _ATTEMPTS):
        taken, _ = await take_step(client, registration, TrustedCertificates(), _BY_HAND)
        if not isinstance(taken, WriteStep | LostRace):
            break
    what = "webhooks" if isinstance(registration, WebhookConfiguration) else "conversion"
    echo(f"{_named(registration)}: {what} {'would be ' * dry_run}taken out")
    return True


def _named(registration: WebhookObject) -> str:
    return f"{registration.resource.kind} {registration.name}"


webhooks.add_command(
    _Remove(
        "remove",
        params=[
            *_flags(*_CLUSTER, *_NAMES),
            click.Option(["--dry-run"], is_flag=True, help="Only show what would be removed."),
        ],
        help="""Remove what this hookrunner has registered in the cluster.

    \b
    hookrunner webhooks remove --namespace hooks --dry-run
    hookrunner webhooks remove --kube-context production --webhook-url https://10.0.0.7:9680

    For the end of an installation, and for when its webhooks refuse everything. Stop hookrunner first: it would
    register itself again. Give the flags (or variables) that it runs with; --namespace is that of its Services, by
    default the kubeconfig's. What others have registered stays, also in the same objects.
    It ends with 0 when nothing is left, and with 1 when something came back or could not be removed.""",
    )
)
