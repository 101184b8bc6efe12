"""`hookrunner new …`: files to begin with."""

from pathlib import Path
from shlex import quote

import click

from hookrunner.testing.starting import KINDS, LANGUAGES, starter


@click.group()
def new() -> None:
    """Begin with something that works.

    \b
    hookrunner new hook label-namespaces                 hooks/label-namespaces.sh and its test cases
    hookrunner new hook 10-teams/label --lang python     hooks/10-teams/label.py
    """


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
    help="What it is for: to hear of events, or to be asked by the API server.",
)
@click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default="hooks",
    show_default=True,
    help="The hooks directory; made if missing.",
)
def new_hook(name: str, lang: str | None, kind: str, directory: Path) -> None:
    """Write a small hook that works, with comments, and its test cases beside it. Nothing is overwritten.

    \b
    hookrunner new hook label-namespaces
    hookrunner hook test hooks/label-namespaces.sh
    hookrunner new hook services --kind validating
    """
    made = starter(name, lang or ("python" if name.endswith(".py") else "bash"), kind, directory)
    made.write()
    steps = {
        f"hookrunner hook test {quote(str(made.hook))}": "it passes",
        f"hookrunner start --sandbox --hooks-dir {quote(str(directory))}": "run it on a Kubernetes API in this process",
    }
    width = max(map(len, steps))
    click.echo(
        "\n".join([f"{made.hook}\n{made.tests}\n\nNext:", *(f"  {k.ljust(width)}   {v}" for k, v in steps.items())])
    )
