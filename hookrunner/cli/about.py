"""Commands about the program itself: version, shell-lib, completion, debug-options."""

from importlib.metadata import version as version_of

import click
from click.shell_completion import get_completion_class

from hookrunner import SHELL_FRAMEWORK, __version__, settings
from hookrunner.cli.output import echo


@click.command()
@click.pass_context
def version(ctx: click.Context) -> None:
    """Print the version, and which jq it carries."""
    echo(f"{ctx.find_root().info_name} {__version__}")
    echo(f"jqFilter implementation: libjq of the Python package jq {version_of('jq')}")


@click.command()
def shell_lib() -> None:
    """Print the path of the shell framework for hooks.

    \b
    A hook starts with:  source "$(hookrunner shell-lib)"
    In the image it is:  source /shell_lib.sh
    """
    echo(SHELL_FRAMEWORK)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell.

    \b
    source <(hookrunner completion bash)                                     in ~/.bashrc
    hookrunner completion fish > ~/.config/fish/completions/hookrunner.fish
    """
    root = ctx.find_root()
    name = root.info_name or "hookrunner"
    script = get_completion_class(shell)
    assert script is not None
    echo(script(root.command, {}, name, f"_{name.replace('-', '_').upper()}_COMPLETE").source())


@click.command()
@click.pass_context
def debug_options(ctx: click.Context) -> None:
    """List the flags that `start --help` leaves out."""
    echo(f"usage: {ctx.find_root().info_name} start [flags]\n\nDebug flags:")
    for option in settings.options():
        if option.hidden:
            echo(f"  --{option.flag} {option.kind.metavar}\n        {option.text} [{', '.join(option.variables)}]")
