"""`hookrunner hook lint`, `module lint` and `addon lint`: what is wrong, without a cluster."""

from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from hookrunner import settings
from hookrunner.cli.output import echo
from hookrunner.cli.shared import directories_option, hooks_directory, quiet, run_to_end
from hookrunner.jq.program import Jq
from hookrunner.linting.findings import Finding, Severity, to_github, to_json, to_text
from hookrunner.linting.hook_linter import Linted, Linter
from hookrunner.process.child import Patience
from hookrunner.process.children import Children
from hookrunner.settings import Settings
from kubetypes.light_dataclasses import dataclass

_IF_VERBOSE = ("next-runs", "carrier")
_FORMATS = {"text": to_text, "json": to_json, "github": to_github}


@dataclass(frozen=True, slots=True)
class _Kind:
    """What is linted. `paths` finds it by a command's parameters; `directories` is the flag that names directories of
    it, empty for hooks, which are in files of their own."""

    noun: str
    metavar: str
    paths: Callable[[dict[str, Any], Settings], Sequence[Path]]
    lint: Callable[[Settings, Sequence[Path]], Coroutine[Any, Any, Linted]]
    directories: str = ""


class _LintCommand(click.Command):
    """Lints what the parameters name and prints what is found."""

    def __init__(self, kind: _Kind, help: str) -> None:
        options = [
            click.Option(["-o", "--output"], type=click.Choice(list(_FORMATS)), default="text", show_default=True),
            click.Option(["--strict"], is_flag=True, help="End with 1 for warnings, too, and ask for permissions."),
            click.Option(
                ["-v", "--verbose"],
                is_flag=True,
                help="Show next runs of schedules and carriers, too.",
            ),
        ]
        path = click.Path(exists=True, path_type=Path)
        directories = [directories_option(kind.directories, "Check", kind.noun)] if kind.directories else []
        paths = click.Argument(["paths"], metavar=kind.metavar, nargs=-1, type=path)
        super().__init__("lint", params=[paths, *directories, *options], help=help)
        self._kind = kind

    def invoke(self, ctx: click.Context) -> int:
        kind, loaded = self._kind, settings.load({}, ctx.find_root().info_name or "")
        paths = kind.paths(ctx.params, loaded)
        with quiet() if kind.directories else nullcontext():
            linted = run_to_end(kind.lint(loaded, paths))
        subjects = [_many(len(paths), kind.noun)] * bool(kind.directories) + [_many(linted.hooks, "hook")]
        return _print_findings(", ".join(subjects), linted.findings, ctx.params)


def _print_findings(subject: str, findings: Iterable[Finding], params: dict[str, Any]) -> int:
    """Print findings, as text with their counts in `subject`. Returns the exit code."""
    shown = [finding for finding in findings if params["verbose"] or finding.code not in _IF_VERBOSE]
    echo(_FORMATS[params["output"]](shown), nl=False)
    counts = {severity: sum(finding.severity is severity for finding in shown) for severity in Severity}
    if params["output"] == "text":
        words = ", ".join(_many(count, severity) for severity, count in counts.items() if count)
        echo(f"{subject}: {words or 'no problems found'}", err=True)
    return int(bool(counts[Severity.ERROR] or (params["strict"] and counts[Severity.WARNING])))


def _many(count: int, word: str) -> str:
    """`1 hook`, `2 hooks`."""
    return f"{count} {word}{'s' * (count != 1)}"


def _linter(loaded: Settings, jq: Jq) -> Linter:
    is_strict = click.get_current_context().params["strict"]
    return Linter(loaded.hooks, Children(Patience(kill=5.0)), jq, datetime.now().astimezone(), is_strict)


async def _lint_hooks(loaded: Settings, paths: Sequence[Path]) -> Linted:
    async with Jq() as jq:
        return await _linter(loaded, jq).lint(paths)


# What follows imports what it needs when it runs: linting a hook need not wait for what reads charts and packages.


async def _lint_modules(loaded: Settings, modules: Sequence[Path]) -> Linted:
    from hookrunner.charts.renderer import Renderer, RenderLimits
    from hookrunner.linting.modules.module_linter import ModuleLinter

    async with Jq() as jq, Renderer(RenderLimits.of(loaded.modules)) as renderer:
        return await ModuleLinter(loaded.modules, _linter(loaded, jq), renderer).lint(modules)


async def _lint_addons(loaded: Settings, addons: Sequence[Path]) -> Linted:
    from hookrunner.addons.object_builder import ObjectBuilder
    from hookrunner.charts.renderer import Renderer, RenderLimits
    from hookrunner.linting.addon_linter import AddonLinter
    from hookrunner.manifests.program_runner import ProgramRunner

    with TemporaryDirectory(prefix="hookrunner-lint-") as directory:
        scratch = Path(directory)
        async with Jq() as jq, Renderer(RenderLimits.of(loaded.modules)) as renderer:
            hooks = _linter(loaded, jq)
            builder = ObjectBuilder(renderer, ProgramRunner(hooks.children, scratch), loaded.hooks.environ)
            return await AddonLinter(hooks, builder, scratch).lint(addons)


def _hook_paths(params: dict[str, Any], loaded: Settings) -> Sequence[Path]:
    return params["paths"] or (hooks_directory(loaded.hooks),)


def _module_paths(params: dict[str, Any], loaded: Settings) -> Sequence[Path]:
    from hookrunner.cli.modules.module_offline import module_paths, named_paths

    return module_paths(named_paths(params["paths"], params["directories"], loaded))


def _addon_paths(params: dict[str, Any], loaded: Settings) -> Sequence[Path]:
    from hookrunner.cli.addons.addon_options import addon_paths

    return addon_paths(params["paths"], params["directories"])


hook_lint = _LintCommand(
    _Kind("hook", "[PATH]...", _hook_paths, _lint_hooks),
    """Check hooks: files, or directories of them (default: the hooks directory).

    \b
    hookrunner hook lint                      all that is wrong with ./hooks
    hookrunner hook lint hooks/copy.sh -v     one hook, and when its schedules fire
    hookrunner hook lint -o github --strict   in a workflow

    Errors are what the start would refuse. Warnings are what loads and then does not do what was meant; a comment
    `# hookrunner: ignore=CODE` silences one. It ends with 1 for errors, with 2 for bad usage, else with 0.
    """,
)

module_lint = _LintCommand(
    _Kind("module", "[DIR]...", _module_paths, _lint_modules, "--modules-dir"),
    """Check modules. DIR is a module, or a directory of modules (default: the modules directory).

    \b
    hookrunner module lint                           all that is wrong with ./modules
    hookrunner module lint modules/010-dns           one module
    hookrunner module lint -o github --strict        in a workflow

    Looked at are names and module.yaml, schemas and their defaults, values.yaml, crds/, the chart rendered with default
    values and with hostile texts in all text fields, and hooks as by `hookrunner hook lint`. Errors are what would be
    refused. A comment `# hookrunner: ignore=CODE` silences a warning. It ends with 1 for errors, with 2 for bad usage,
    else with 0.
    """,
)

addon_lint = _LintCommand(
    _Kind("addon", "[DIR]...", _addon_paths, _lint_addons, "--addons-dir"),
    """Check addons. DIR is an addon, or a directory of addons (default: ./addons).

    \b
    hookrunner addon lint                           all that is wrong with ./addons
    hookrunner addon lint addons/coredns            one addon
    hookrunner addon lint -o github --strict        in a workflow

    Looked at are addon.yaml, schemas and their defaults, values.yaml, channels, packages and the objects that they lead
    to with default values and with hostile texts in all text fields, and hooks as by `hookrunner hook lint`. Errors are
    what would be refused. A comment `# hookrunner: ignore=CODE` silences a warning. It ends with 1 for errors, with 2
    for bad usage, else with 0.
    """,
)
