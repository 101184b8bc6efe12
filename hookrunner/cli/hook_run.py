"""`hookrunner hook run`: one hook, one made-up event, and what the hook asks for; no cluster is touched."""

from dataclasses import dataclass
from pathlib import Path

import click
import orjson

from hookrunner import settings
from hookrunner.cli import ending
from hookrunner.cli.output import echo_styled, show, styled
from hookrunner.model.resources import JSON
from hookrunner.options import duration
from hookrunner.testing import happenings, manifests
from hookrunner.testing.bench import Bench, bench
from hookrunner.testing.display import as_yaml
from hookrunner.testing.happenings import Given, HappeningOptions, NotRun
from hookrunner.testing.results import NO_EFFECTS, Effects, Result, as_json, as_text


def seconds(_ctx: click.Context, _param: click.Parameter, given: str) -> float:
    """A duration such as 30s; 0 is no limit."""
    try:
        return duration(given) or 1e9
    except ValueError:
        raise click.BadParameter(f"'{given}' is no duration such as 30s or 2m") from None


def timeout_option() -> click.Option:
    """For every command that runs hooks."""
    return click.Option(
        ["--timeout"],
        metavar="DURATION",
        default="30s",
        show_default=True,
        callback=seconds,
        help="How long a run may take; then its processes are ended.",
    )


WOULD_NOT_RUN = 3
"""The exit code: nothing has failed, and nothing was run."""


def kubeconfig_option() -> click.Option:
    """For every command that lets hooks act."""
    return click.Option(
        ["--kubeconfig"],
        type=click.Path(exists=True, dir_okay=False, resolve_path=True),
        default=None,
        metavar="FILE",
        help="A cluster for hooks that call kubectl themselves. [default: they find none]",
    )


@dataclass(frozen=True, slots=True)
class _Ran:
    """A run, and what would come of it."""

    result: Result
    effects: Effects


class _Run(click.Command):
    """Its many options go where they are needed by way of the click context."""

    def invoke(self, ctx: click.Context) -> int:
        output = ctx.params["output"]
        found = ending.run(_run(ctx))
        if isinstance(found, _Ran):
            _show(found, output, ctx.params["show_context"])
            return WOULD_NOT_RUN if not found.result.ran else int(not found.result.ok)
        show(_written(found, output))
        return 0


def _text(*names: str, help: str, metavar: str = "NAME") -> click.Option:
    return click.Option(names, default="", metavar=metavar, help=help)


def _files(*names: str, help: str, metavar: str = "FILES") -> click.Option:
    return click.Option(names, multiple=True, metavar=metavar, help=help)


hook_run = _Run(
    "run",
    params=[
        click.Argument(["path"], type=click.Path(exists=True, dir_okay=False, path_type=Path)),
        click.Option(
            ["-e", "--event"],
            type=click.Choice(happenings.EVENTS, case_sensitive=False),
            metavar="EVENT",
            help=f"What happens: {', '.join(happenings.EVENTS)}.",
        ),
        _text("-b", "--binding", help="The binding that it happens to, if more than one fits."),
        _text("--group", help="Something happens to a binding of this group."),
        _files("--object", "objects", help="The object that it happens to; - is standard input."),
        _text("--old-object", metavar="FILE", help="The object as it was before."),
        _text("--operation", metavar="VERB", help="Of a review: CREATE, UPDATE, DELETE or CONNECT."),
        click.Option(["--dry-run"], is_flag=True, help="Of a review: somebody only wants to know what would happen."),
        _text("--subresource", help="Of a review: the part of the object that it is about, such as status."),
        _text("--to", metavar="VERSION", help="Of a conversion: the version that is wanted."),
        _files("--given", help="Objects that are in the cluster; every binding takes those that match."),
        _files("--snapshot", "snapshots", metavar="NAME=FILES", help="Objects for the binding NAME alone."),
        _text("--values", metavar="FILE", help="Values, for a hook of a module."),
        _text("--config-values", metavar="FILE", help="Its config values; empty sections otherwise."),
        click.Option(["--context-only"], is_flag=True, help="Print the binding context and run nothing."),
        click.Option(["--show-context"], is_flag=True, help="Print the binding context too."),
        click.Option(
            ["-o", "--output"], type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True
        ),
        timeout_option(),
        kubeconfig_option(),
    ],
    help="""Run a hook on a made-up event and show what it asks for.

    \b
    hookrunner hook run hooks/copy.sh --event Added --object secret.yaml
    hookrunner hook run hooks/copy.sh --object new.yaml --old-object old.yaml --given 'cluster/*.yaml'
    hookrunner hook run hooks/report.py --event Schedule --snapshot pods='pods/*.yaml'
    hookrunner hook run hooks/policy.sh --operation CREATE --object pod.yaml --context-only

    The context is what a running hookrunner would make of it: filters and selectors are applied. What the hook asks for
    is shown as it wrote it, and as a diff of the given objects. No cluster is touched.
    It ends with 0 if the hook succeeded, with 1 if it failed, with 2 for bad usage, with 3 if it would not run.""",
)


async def _run(ctx: click.Context) -> _Ran | JSON:
    """A run, or the contexts alone."""
    shared = settings.load({}, ctx.find_root().info_name or "").hooks
    async with bench(shared, ctx.params["timeout"], ctx.params["kubeconfig"] or "") as tools:
        hook = await tools.load(ctx.params["path"])
        given, happening = _given(ctx), happenings.parse_happening(hook, _words(ctx))
        if not ctx.params["context_only"]:
            result = await tools.run(hook, given, happening)
            return _Ran(result, await _effects(tools, result))
        try:
            return await tools.contexts(hook, given, happening)
        except NotRun as reason:
            return _Ran(Result(reason=str(reason)), NO_EFFECTS)


async def _effects(tools: Bench, result: Result) -> Effects:
    if not result.carried_out:
        return NO_EFFECTS
    # The HTTP client and the sandbox take 0.3 s to import, which a hook that changes nothing need not wait for.
    from hookrunner.testing.effects import compute_effects

    return await compute_effects(result.objects, result.carried_out, tools.jq)


def _words(ctx: click.Context) -> HappeningOptions:
    said = ctx.params
    here = Path.cwd()
    return HappeningOptions(
        event=said["event"] or "",
        binding=said["binding"],
        group=said["group"],
        objects=manifests.load(said["objects"], here),
        old=manifests.one(said["old_object"], here) if said["old_object"] else None,
        operation=said["operation"],
        to=said["to"],
        dry_run=said["dry_run"],
        part=said["subresource"],
    )


def _given(ctx: click.Context) -> Given:
    said, here = ctx.params, Path.cwd()
    snapshots: dict[str, tuple[JSON, ...]] = {}
    for text in said["snapshots"]:
        name, sign, files = text.partition("=")
        if not sign:
            raise click.BadParameter(f"'{text}': write NAME=FILES", param_hint="--snapshot")
        snapshots[name] = snapshots.get(name, ()) + manifests.load([files], here)
    return Given(
        manifests.load(said["given"], here),
        snapshots,
        manifests.mapping(said["values"]) if said["values"] else None,
        manifests.mapping(said["config_values"]) if said["config_values"] else None,
    )


def _show(ran: _Ran, output: str, with_context: bool) -> None:
    if output == "text":
        echo_styled("\n".join(styled(as_text(ran.result, ran.effects, with_context))))
        return
    show(_written(as_json(ran.result, ran.effects), output))


def _written(document: JSON, output: str) -> str:
    """JSON where nothing is said: that is what a hook reads."""
    if output == "yaml":
        return as_yaml(document).removesuffix("\n")
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()
