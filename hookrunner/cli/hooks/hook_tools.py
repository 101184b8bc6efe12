"""`hookrunner hook run`: one made-up event and what the hook asks for; `hook config`: what hooks declare.

No cluster is touched.
"""

from collections.abc import Iterator
from pathlib import Path

import click
import orjson

from hookrunner import settings
from hookrunner.cli.output import echo, echo_json, echo_styled, show, styled, to_json
from hookrunner.cli.shared import kubeconfig_option, run_to_end, timeout_option
from hookrunner.hooks.catalog import Catalog
from hookrunner.testing import display, happenings, manifests
from hookrunner.testing.bench import bench
from hookrunner.testing.display import as_yaml
from hookrunner.testing.happenings import Given, HappeningOptions, NotRun
from hookrunner.testing.results import NO_EFFECTS, Effects, Result, as_json, as_text
from kubetypes.json_values import JSON
from kubetypes.light_dataclasses import dataclass

WOULD_NOT_RUN = 3
"""The exit code: nothing has failed, and nothing was run."""


@dataclass(frozen=True, slots=True)
class _Ran:
    """A run, and what would come of it."""

    result: Result
    effects: Effects


class _Run(click.Command):
    """Passes its many options on in the click context."""

    def invoke(self, ctx: click.Context) -> int:
        output = ctx.params["output"]
        outcome = run_to_end(_run(ctx))
        if isinstance(outcome, _Ran):
            _show(outcome, output, ctx.params["show_context"])
            return WOULD_NOT_RUN if not outcome.result.ran else int(not outcome.result.ok)
        show(_to_text(outcome, output))
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
        click.Option(["--dry-run"], is_flag=True, help="Of a review: the request is a dry run."),
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
        given, happening = _given(ctx), happenings.parse_happening(hook, _happening_options(ctx))
        if not ctx.params["context_only"]:
            result = await tools.run(hook, given, happening)
            return _Ran(result, await tools.effects(result) if result.carried_out else NO_EFFECTS)
        try:
            return await tools.contexts(hook, given, happening)
        except NotRun as reason:
            return _Ran(Result(reason=str(reason)), NO_EFFECTS)


def _happening_options(ctx: click.Context) -> HappeningOptions:
    params = ctx.params
    here = Path.cwd()
    return HappeningOptions(
        event=params["event"] or "",
        binding=params["binding"],
        group=params["group"],
        objects=manifests.load(params["objects"], here),
        old=manifests.load_one(params["old_object"], here) if params["old_object"] else None,
        operation=params["operation"],
        to=params["to"],
        dry_run=params["dry_run"],
        part=params["subresource"],
    )


def _given(ctx: click.Context) -> Given:
    params, here = ctx.params, Path.cwd()
    snapshots: dict[str, tuple[JSON, ...]] = {}
    for text in params["snapshots"]:
        name, sign, files = text.partition("=")
        if not sign:
            raise click.BadParameter(f"'{text}': write NAME=FILES", param_hint="--snapshot")
        snapshots[name] = snapshots.get(name, ()) + manifests.load([files], here)
    return Given(
        manifests.load(params["given"], here),
        snapshots,
        manifests.mapping(params["values"]) if params["values"] else None,
        manifests.mapping(params["config_values"]) if params["config_values"] else None,
    )


def _show(ran: _Ran, output: str, with_context: bool) -> None:
    if output == "text":
        echo_styled("\n".join(styled(as_text(ran.result, ran.effects, with_context))))
        return
    show(_to_text(as_json(ran.result, ran.effects), output))


def _to_text(document: JSON, output: str) -> str:
    """JSON unless YAML is asked for: JSON is what a hook reads."""
    if output == "yaml":
        return as_yaml(document).removesuffix("\n")
    return to_json(document)


HOOK_PATH = click.Path(exists=True, path_type=Path)


@click.command("config")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=HOOK_PATH)
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
@click.pass_context
def hook_config(ctx: click.Context, paths: tuple[Path, ...], output: str) -> int:
    """Show what hooks declare, with every default. PATH is a hook or a directory of hooks.

    \b
    hookrunner hook config hooks/copy.sh
    hookrunner hook config hooks -o json | jq '.[] | {hook, queues: [.kubernetes[].queue]}'

    Each hook is run with --config, as at the start. Durations are in seconds. It ends with 1 if a hook is refused.
    """
    catalogs = run_to_end(_load_catalogs(paths, ctx.find_root().info_name or ""))
    configs: list[JSON] = [
        {"hook": hook.name, **display.config_document(hook.config)} for catalog in catalogs for hook in catalog.hooks
    ]
    match output:
        case "json":
            echo_json(configs)
        case "yaml":
            echo(as_yaml(configs), nl=False)
        case _:
            echo("\n".join(f"{_table(config)}\n" for config in configs).removesuffix("\n"), nl=bool(configs))
    problems = [problem for catalog in catalogs for problem in catalog.problems]
    for problem in problems:
        echo(f"Error: {problem}", err=True)
    return 1 if problems else 0


async def _load_catalogs(paths: tuple[Path, ...], program: str) -> list[Catalog]:
    async with bench(settings.load({}, program).hooks) as tools:
        return [await tools.catalog(path) for path in paths]


def _table(config: JSON) -> str:
    rows = list(_rows(config, ""))
    width = max(len(key) for key, _ in rows)
    return "\n".join(f"{key.ljust(width)}  {value}".rstrip() for key, value in rows)


def _rows(value: JSON, path: str) -> Iterator[tuple[str, str]]:
    """A row for each value that is not itself a mapping or a list of them. An empty value is `-`; at the top it is left
    out."""
    for key, item in value.items():
        if isinstance(item, dict):
            yield from _rows(item, f"{path}{key}.")
        elif isinstance(item, list) and item and isinstance(item[0], dict):
            for index, inner in enumerate(item):
                yield from _rows(inner, f"{path}{key}[{index}].")
        elif item in (None, "", []):
            yield from [(path + key, "-")] * bool(path)
        else:
            yield path + key, item if isinstance(item, str) else orjson.dumps(item).decode()
