"""Commands for a person at the simulated cloud: machines come, stop and vanish, calls fail, what there is is shown."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from simcloud_lib.faults import CODES, MISBEHAVIOURS
from simcloud_lib.state import (
    Document,
    add_instance,
    changing_state,
    first_state,
    log_file,
    read_state,
    state_file,
)
from simcloud_lib.verbs import ANSWERS, PREFIX

Command = Callable[[argparse.Namespace], None]

EXAMPLES = """\
examples:
  simcloud add-instance worker-4 --zone zone-b
  simcloud stop worker-1; simcloud terminate worker-2
  simcloud fail --verb lb-ensure --times 3 --code Throttled --retry-after 20
  simcloud fail --verb instances --code garbage --node worker-3     only where this Node is asked about
  simcloud fail --verb '*' --code Unavailable --chance 0.1          one call in ten
  simcloud delay --verb instances --seconds 0.05
  simcloud set features '{"serve": true}'                           change what `capabilities` says
  simcloud recover                                                  no faults from now on
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    options = _parser()[0].parse_args(arguments)
    run: Command = options.run
    try:
        run(options)
    except (LookupError, ValueError, OSError) as wrong:
        print(f"simcloud: {wrong.args[0] if isinstance(wrong, LookupError) else wrong}", file=sys.stderr)
        return 1
    return 0


def names() -> list[str]:
    """All commands."""
    return list(_parser()[1])


def _parser() -> tuple[argparse.ArgumentParser, Sequence[str]]:
    """The parser, and the names of its commands."""
    parser = argparse.ArgumentParser(
        prog="simcloud",
        description="A cloud in a JSON file.",
        epilog=f"{EXAMPLES}\nits state: {state_file()}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_instance_commands(commands)
    _add_fault_commands(commands)
    _add_command(commands, "set", _set, "change a key of the answer to `capabilities`").add_argument("key")
    commands.choices["set"].add_argument("value", help="JSON")
    _add_command(commands, "lose-lb", _lose_balancer, "a load balancer vanishes").add_argument("name")
    _add_command(commands, "list", _list, "what there is").add_argument("-o", "--output", choices=["text", "json"])
    _add_command(commands, "calls", _calls, "the log of calls, in lines of JSON").add_argument("--verb")
    _add_command(commands, "reset", _reset, "begin anew")
    commands.choices["reset"].add_argument("--empty", action="store_true", help="with no instances")
    return parser, list(commands.choices)


def _add_command(commands: Any, name: str, run: Command, does: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(name, help=does, description=does)
    parser.set_defaults(run=run)
    return parser


def _add_instance_commands(commands: Any) -> None:
    add = _add_command(commands, "add-instance", _add, "a machine that runs; with --count NAME-1, NAME-2, …")
    add.add_argument("name")
    add.add_argument("--count", type=int, default=0)
    add.add_argument("--zone", default="zone-a")
    add.add_argument("--region", default="region-1")
    add.add_argument("--type", dest="kind", default="sim.small")
    _add_command(commands, "stop", _stop, "a machine is shut down").add_argument("name")
    _add_command(commands, "start", _start, "a machine runs again").add_argument("name")
    _add_command(commands, "terminate", _terminate, "a machine is deleted").add_argument("name")
    rename = _add_command(commands, "rename-zone", _rename_zone, "a machine is in another zone")
    rename.add_argument("name")
    rename.add_argument("zone")
    edit = _add_command(commands, "edit", _edit, "anything that the cloud says of a machine, also nonsense")
    edit.add_argument("name")
    edit.add_argument("key", help="state, zone, region, type, addresses, labels or providerID")
    edit.add_argument("value", help="JSON")


def _add_fault_commands(commands: Any) -> None:
    every = {
        "fail": "calls fail, with a code of the wire format or a misbehaviour",
        "delay": "calls take longer",
        "pending": "what is asked for is being made: again in some seconds",
        "garbage": "answers are no JSON",
        "hang": "calls never end",
    }
    for name, does in every.items():
        command = _add_command(commands, name, _fail, does)
        command.set_defaults(what={"pending": "Pending"}.get(name, name), code=None, retry_after=None, seconds=None)
        command.add_argument("--verb", choices=["*", *ANSWERS], default="*")
        command.add_argument("--times", type=int, help="for so many calls; else until `recover`")
        command.add_argument("--chance", type=float, help="0 to 1: of each call to be struck")
        command.add_argument("--node", help="only calls about this Node")
        command.add_argument("--service", help="only calls about this Service: [NAMESPACE/]NAME")
    commands.choices["fail"].add_argument("--code", choices=[*CODES, *MISBEHAVIOURS], default="Unavailable")
    for name in ("fail", "pending"):
        commands.choices[name].add_argument("--retry-after", type=float, metavar="SECONDS")
    commands.choices["delay"].add_argument("--seconds", type=float, required=True)
    commands.choices["hang"].add_argument("--seconds", type=float, help="then they go on")
    commands.choices["hang"].add_argument("--stubborn", action="store_true", help="SIGTERM is ignored")
    _add_command(commands, "recover", _recover, "no faults from now on")


def _add(options: argparse.Namespace) -> None:
    names = [f"{options.name}-{n + 1}" for n in range(options.count)] or [options.name]
    with changing_state() as state:
        for name in names:
            add_instance(state, name, zone=options.zone, region=options.region, kind=options.kind)


def _change(name: str, key: str, value: Any) -> None:
    with changing_state() as state:
        _instance(state, name)[key] = value


def _instance(state: Document, name: str) -> Document:
    if name not in state["instances"]:
        raise LookupError(f"no instance {name!r}; there are {', '.join(state['instances']) or 'none'}")
    instance: Document = state["instances"][name]
    return instance


def _stop(options: argparse.Namespace) -> None:
    _change(options.name, "state", "shutdown")


def _start(options: argparse.Namespace) -> None:
    _change(options.name, "state", "running")


def _rename_zone(options: argparse.Namespace) -> None:
    _change(options.name, "zone", options.zone)


def _edit(options: argparse.Namespace) -> None:
    _change(options.name, options.key, json.loads(options.value))


def _terminate(options: argparse.Namespace) -> None:
    with changing_state() as state:
        _instance(state, options.name)
        del state["instances"][options.name]


def _lose_balancer(options: argparse.Namespace) -> None:
    with changing_state() as state:
        balancers: Document = state["loadBalancers"]
        found = [name for name, balancer in balancers.items() if options.name in (name, balancer["service"])]
        if not found:
            raise LookupError(f"no load balancer {options.name!r}; there are {', '.join(balancers) or 'none'}")
        del balancers[found[0]]


def _set(options: argparse.Namespace) -> None:
    with changing_state() as state:
        state["capabilities"][options.key] = json.loads(options.value)


def _fail(options: argparse.Namespace) -> None:
    fault: Document = {"verb": options.verb, "what": options.code or options.what}
    named = {
        "times": options.times,
        "chance": options.chance,
        "node": options.node,
        "service": options.service,
        "seconds": options.seconds,
        "retryAfter": options.retry_after,
        "stubborn": getattr(options, "stubborn", None),
    }
    fault.update({key: value for key, value in named.items() if value})
    with changing_state() as state:
        state["faults"].append(fault)


def _recover(options: argparse.Namespace) -> None:
    with changing_state() as state:
        state["faults"] = []


def _reset(options: argparse.Namespace) -> None:
    with changing_state() as state:
        state.clear()
        state.update(first_state(()) if options.empty else first_state())


def _calls(options: argparse.Namespace) -> None:
    if not os.path.exists(log_file()):
        return
    with open(log_file(), encoding="utf-8") as lines:
        for line in lines:
            if not options.verb or json.loads(line)["verb"] == options.verb:
                print(line, end="")


def _list(options: argparse.Namespace) -> None:
    state = read_state()
    if options.output == "json":
        print(json.dumps(state, indent=2))
        return
    for name, instance in state["instances"].items():
        addresses = ", ".join(address["address"] for address in instance["addresses"])
        print(f"instance {name}: {instance['state']}, {PREFIX}{instance['id']}, {instance['zone']}, {addresses}")
    for name, balancer in state["loadBalancers"].items():
        ingress = ", ".join(point.get("ip", "") for point in balancer["ingress"])
        print(f"load balancer {name}: {balancer['service']}, {ingress}, to {', '.join(balancer['nodes']) or 'no node'}")
    for route in state["routes"]:
        print(f"route {route['name']}: {route['destinationCIDR']} to {route['targetNode']}")
    for fault in state["faults"]:
        print(f"fault: {json.dumps(fault)}")
