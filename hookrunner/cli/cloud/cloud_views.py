"""`hookrunner cloud status`, `release` and `orphans`: what a running hookrunner knows of the cloud, over its debug
socket."""

import time
from collections.abc import Iterator

import click
import orjson

from hookrunner.cli.debug import Sockets, as_form, ask, at
from hookrunner.cli.output import age, echo, echo_styled, show, to_table
from hookrunner.cli.sources import CLUSTER_TIMEOUT
from kubetypes.json_values import JSON

_CALLS = 10
"""So many calls fit on a screen with what matters more."""


@click.command("status")
@click.option(
    "-a", "--all", "everything", is_flag=True, help="Show Nodes and Services without problems and older calls, too."
)
@as_form
@at
def cloud_status(everything: bool, output: str, sockets: Sockets) -> None:
    """Show the provider, who leads, which Nodes are not initialised and why, held deletions, Services, the last calls.

    \b
    hookrunner cloud status
    hookrunner cloud status --all
    hookrunner cloud status -o json | jq .deletions
    """
    text = ask(sockets, f"/cloud/status.{'json' if output == 'text' else output}")
    if output != "text":
        show(text)
        return
    for paragraph in _paragraphs(orjson.loads(text), everything, time.time()):
        echo_styled(paragraph + "\n\n")


@click.command("release")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@at
def cloud_release(output: str, sockets: Sockets) -> None:
    """Let the deletion of Nodes go on that is held because too many of their machines are gone at once.

    It lets exactly those go that `hookrunner cloud status` shows as held at the moment; check first that they are gone.

    \b
    hookrunner cloud status && hookrunner cloud release
    hookrunner cloud release -o json | jq -r '.released[]'
    """
    text = ask(sockets, "/cloud/release", {})
    if output == "json":
        show(text)
        return
    released = orjson.loads(text)["released"]
    echo(f"released: {', '.join(released)}" if released else "no deletion is held")


@click.command("orphans")
@as_form
@at
def cloud_orphans(output: str, sockets: Sockets) -> None:
    """Show load balancers of the cloud that belong to no Service. It asks the provider, which must know `lb-list`.

    \b
    hookrunner cloud orphans -o json | jq -r '.orphans[].name'
    """
    form = "json" if output == "text" else output
    text = ask(sockets, f"/cloud/orphans.{form}", seconds=CLUSTER_TIMEOUT)
    if output != "text":
        show(text)
        return
    orphans = orjson.loads(text)["orphans"]
    rows = [[orphan["name"], orphan["service"], orphan["uid"], orphan["reason"]] for orphan in orphans]
    echo_styled(to_table(["LOAD BALANCER", "SERVICE", "UID", "WHY"], rows) if rows else "no orphans")


def _paragraphs(state: JSON, everything: bool, now: float) -> Iterator[str]:
    yield _head(state, now)
    nodes = [node for node in state["nodes"] if everything or node["state"] != "initialized"]
    services = [service for service in state["services"] if everything or service["state"] != "synced"]
    calls = state["calls"] if everything else state["calls"][-_CALLS:]
    tables = (
        (["NODE", "STATE", "FOR", "PROVIDER ID", "WHY"], [_node(node, now) for node in nodes]),
        (["GONE", "CONFIRMED", "WHAT HOLDS ITS DELETION"], [_deletion(deletion) for deletion in state["deletions"]]),
        (["SERVICE", "STATE", "AGAIN IN", "INGRESS", "WHY"], [_service(service, now) for service in services]),
        (["CALL", "BEGAN", "TOOK", "RESULT", "MESSAGE"], [_call(call, now) for call in calls]),
    )
    for titles, rows in tables:
        if rows:
            yield to_table(titles, rows)


def _head(state: JSON, now: float) -> str:
    provider = state["provider"]
    offers = f" ({', '.join(provider['interfaces'])})" if provider["interfaces"] else ""
    lines = [f"provider  {provider['name'] or provider['path']}{offers}"]
    if provider["problem"]:
        lines.append(f"          {provider['problem']}")
    if provider["paused_until"] > now:
        lines.append(f"          paused for {age(provider['paused_until'] - now)}: the cloud throttles")
    elsewhere = f"{state['leader']}; ask it for deletions and Services" if state["leader"] else "none that is known"
    lines.append(f"leader    {'this replica' if state['leads'] else elsewhere}")
    lines += [f"loop      {name}{': ' + problem if problem else ''}" for name, problem in state["loops"]]
    counted = {kind: len(state[kind]) for kind in ("nodes", "services")}
    return "\n".join([*lines, f"objects   {counted['nodes']} Nodes, {counted['services']} Services"])


def _node(node: JSON, now: float) -> list[str]:
    lasted = age(now - node["since"]) if node["since"] else ""
    return [node["name"], node["state"], lasted, node["provider_id"], node["reason"]]


def _deletion(deletion: JSON) -> list[str]:
    confirmed = f"{deletion['confirmations']} of {deletion['needed']}"
    held = "held, `hookrunner cloud release` lets it go: " if deletion["held"] else ""
    return [deletion["node"], confirmed, held + deletion["reason"]]


def _service(service: JSON, now: float) -> list[str]:
    again = age(max(0.0, service["again"] - now)) if service["again"] else ""
    name = f"{service['namespace']}/{service['name']}"
    return [name, service["state"], again, ",".join(service["ingress"]), service["reason"]]


def _call(call: JSON, now: float) -> list[str]:
    took = f"{call['seconds']:.2f}s"
    return [call["verb"], f"{age(now - call['began'])} ago", took, call["code"] or "runs", call["message"]]
