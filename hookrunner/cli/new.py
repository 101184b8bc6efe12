"""`hookrunner new …`: files to begin with."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote

import click

from hookrunner.cli.output import echo
from hookrunner.cli.sources import Decorator
from hookrunner.testing.starters.directory_starters import addon_starter, module_starter
from hookrunner.testing.starters.hook_starter import KINDS, LANGUAGES, starter
from hookrunner.testing.starters.provider_starter import write_provider


@click.group()
def new() -> None:
    """Begin with something that works.

    \b
    hookrunner new hook label-namespaces                 hooks/label-namespaces.sh and its test cases
    hookrunner new hook 10-teams/label --lang python     hooks/10-teams/label.py
    hookrunner new module web                            modules/010-web, with all that a module can have
    hookrunner new addon web                             addons/web, with a kind, a package, a hook and test cases
    hookrunner new provider my-cloud                     ./my-cloud, a cloud of three pretend machines
    """


def _in_directory(default: str, what: str) -> Decorator:
    """Give a command the directory in which it writes."""
    kind = click.Path(file_okay=False, path_type=Path)
    text = f"{what}; made if missing."
    return click.option("--dir", "directory", type=kind, default=default, show_default=True, help=text)


@new.command("hook")
@click.argument("name")
@click.option(
    "--lang", type=click.Choice(list(LANGUAGES)), help="Its language. [default: by NAME's extension, or bash]"
)
@click.option(
    "--kind",
    type=click.Choice(list(KINDS)),
    default=KINDS[0],
    show_default=True,
    help="What runs it: events of objects, or reviews of the API server.",
)
@click.option("--resident", is_flag=True, help="One whose process stays and answers one run after another.")
@_in_directory("hooks", "The hooks directory")
def new_hook(name: str, lang: str | None, kind: str, directory: Path, resident: bool) -> None:
    """Write a small hook that works, with its test cases. It is commented; nothing is overwritten.

    \b
    hookrunner new hook label-namespaces
    hookrunner hook test hooks/label-namespaces.sh
    hookrunner new hook services --kind validating
    """
    files = starter(name, lang or ("python" if name.endswith(".py") else "bash"), kind, directory, resident)
    files.write()
    _tell(
        [files.hook, files.tests],
        {
            f"hookrunner hook test {quote(str(files.hook))}": "it passes",
            f"hookrunner start --sandbox --hooks-dir {quote(str(directory))}": "run it on a Kubernetes API in this "
            "process",
        },
    )


@new.command("module")
@click.argument("name")
@click.option(
    "--weight",
    type=click.IntRange(0, 999),
    help="Its place among others: lower ones come first. [default: behind all that are there]",
)
@_in_directory("modules", "The modules directory")
def new_module(name: str, weight: int | None, directory: Path) -> None:
    """Write a module that works and uses every feature.

    It has comments and a README that leads through it: delete what you do not need. It is the sample that ships, under
    the name NAME, which may begin with its weight: 010-web.

    \b
    hookrunner new module web
    hookrunner module test modules
    hookrunner new module cert-manager --weight 20 --dir addons
    """
    files = module_starter(name, weight, directory)
    files.write()
    module, modules = quote(str(files.directory)), quote(str(directory))
    on_sandbox = f"hookrunner start --sandbox --simulate --modules-dir {modules} --seed {module}/example.yaml"
    _tell(
        files.paths,
        {
            f"hookrunner module lint {module} && hookrunner module test {module}": "it passes",
            f"hookrunner module render {files.name} --modules-dir {modules}": "its manifests",
            on_sandbox: "run it on a Kubernetes API in this process",
        },
    )


@new.command("addon")
@click.argument("name")
@_in_directory("addons", "The addons directory")
def new_addon(name: str, directory: Path) -> None:
    """Write a small addon that works. It has a kind, a schema, one version of a package, a hook, and test cases.

    \b
    hookrunner new addon web
    hookrunner addon test addons
    hookrunner new addon cert-manager --dir own-addons
    """
    files = addon_starter(name, directory)
    files.write()
    addon, addons = quote(str(files.directory)), quote(str(directory))
    _tell(
        files.paths,
        {
            f"hookrunner addon lint {addon} && hookrunner addon test {addon}": "it passes",
            f"hookrunner addon render {addon}/example.yaml --addons-dir {addons}": "its objects",
        },
    )


@new.command("provider")
@click.argument("name")
@click.option(
    "--lang",
    "language",
    type=click.Choice(list(LANGUAGES)),
    default="bash",
    show_default=True,
    help="Its language.",
)
@_in_directory(".", "Its directory")
def new_provider(name: str, language: str, directory: Path) -> None:
    """Write a small cloud provider that works. It knows three pretend machines; nothing is overwritten.

    \b
    hookrunner new provider my-cloud
    hookrunner cloud check ./my-cloud --node worker-1
    hookrunner new provider rack --dir providers
    """
    path = write_provider(name, language, directory)
    command = quote(str(path) if "/" in str(path) else f"./{path}")
    on_sandbox = f"hookrunner cloud start --sandbox --cloud-provider {command}"
    _tell(
        [path],
        {
            f"hookrunner cloud check {command} --node worker-1": "it passes, also for a machine that it knows",
            f"hookrunner cloud call {command} instances --node worker-1": "a question and its answer",
            on_sandbox: "run it on an API in this process; docs/cloud.md has a Node for it",
        },
    )


def _tell(paths: Sequence[Path], steps: Mapping[str, str]) -> None:
    """What there is now, and what to do with it."""
    width = max(map(len, steps))
    listed = "\n".join(map(str, paths))
    echo("\n".join([f"{listed}\n\nNext:", *(f"  {k.ljust(width)}   {v}" for k, v in steps.items())]))
