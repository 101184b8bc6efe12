"""`hookrunner cloud check`: every rule of the wire format, kept or broken by a provider."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

import click

from hookrunner.cli.cloud.provider_options import of_provider, probe_of, read_nodes
from hookrunner.cli.output import Color, echo, echo_json, echo_styled, style
from hookrunner.cli.shared import quiet, run_to_end
from hookrunner.cloud.checks.provider_check import (
    FORM_RULES,
    RULES,
    CheckOptions,
    RuleOutcome,
    RuleStatus,
    check_provider,
)
from hookrunner.cloud.provider.provider_program import ProviderProgram

_COLORS: Mapping[RuleStatus, Color] = {
    RuleStatus.OK: "green",
    RuleStatus.BROKEN: "red",
    RuleStatus.DOUBTFUL: "yellow",
}
_WIDTH = max(map(len, RuleStatus))
_RULE_WIDTH = max(len(name) for name in (*(rule.name for rule in RULES), *FORM_RULES))


@click.command("check")
@of_provider
@click.option(
    "--node", "named", multiple=True, metavar="NAME|FILE", help="A Node of a machine that it has; may be repeated."
)
@click.option("--write", "writes", is_flag=True, help="Make and delete a load balancer and a route in the cloud, too.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def cloud_check(program: ProviderProgram, named: tuple[str, ...], writes: bool, output: str) -> int:
    """Check whether PROVIDER, a path or a name in --providers-dir, does what `cloud start` relies on.

    \b
    hookrunner cloud check ./my-cloud                        what can be told without changing anything
    hookrunner cloud check ./my-cloud --node worker-1        ids, labels and addresses of a machine, too
    hookrunner cloud check ./my-cloud --node worker-1 --write --cloud-config my.yaml --cloud-env MY_TOKEN
    hookrunner cloud check simcloud -o json

    It asks about Nodes that do not exist, about none and about 500, in several orders, and reads every answer as
    strictly as `cloud start` does. Nothing is changed without --write. It ends with 1 if a rule is broken, with 2 for
    bad usage, else with 0.
    """
    options = CheckOptions(tuple(read_nodes(named)), writes, program.masked)
    with quiet():
        outcomes = run_to_end(_check(program, options, _show if output == "text" else lambda _: None))
    if output == "json":
        echo_json([asdict(outcome) for outcome in outcomes])
    else:
        for outcome in outcomes:
            _show_skipped(outcome)
        echo(f"{program.name}: {_counted(outcomes)}", err=True)
    return int(any(outcome.status is RuleStatus.BROKEN for outcome in outcomes))


async def _check(
    program: ProviderProgram, options: CheckOptions, show: Callable[[RuleOutcome], None]
) -> list[RuleOutcome]:
    """Every outcome, after it was shown."""
    outcomes = []
    async for outcome in check_provider(probe_of(program), options):
        show(outcome)
        outcomes.append(outcome)
    return outcomes


def _show(outcome: RuleOutcome) -> None:
    """Print a rule that was checked."""
    if outcome.status is not RuleStatus.SKIPPED:
        echo_styled(f"{_head(outcome)}  {outcome.claim}")
        for text in outcome.texts:
            echo_styled(f"{'':{_WIDTH + _RULE_WIDTH + 6}}{style(text)}")


def _show_skipped(outcome: RuleOutcome) -> None:
    """Print a rule that was not checked; these come last, because they are not news."""
    if outcome.status is RuleStatus.SKIPPED:
        echo_styled(f"{_head(outcome)}  {style('; '.join(outcome.texts))}")


def _head(outcome: RuleOutcome) -> str:
    return f"{style(f'{outcome.status:{_WIDTH}}', _COLORS.get(outcome.status))}  {outcome.rule:{_RULE_WIDTH}}"


def _counted(outcomes: Sequence[RuleOutcome]) -> str:
    counts = Counter(outcome.status for outcome in outcomes)
    return ", ".join(f"{counts[status]} {status}" for status in RuleStatus if counts[status])
