"""The command `hookrunner`: finds the sub-command, runs it, and turns every end into an exit code.

Exit codes: 0 stopped as asked, 1 refused or failed (the message says what, where, what to do), 2 bad usage; 130 where
Ctrl-C broke off something else than `start`. A sub-command's file is imported when it is called, so that
`hookrunner --help` and the debug commands start fast.
"""

import os
import sys
from keyword import iskeyword
from pathlib import PurePath
from typing import ClassVar

import click

from hookrunner import __version__
from hookrunner.cli.lazy import Lazy
from hookrunner.cli.output import echo, show_error
from hookrunner.errors import BadInput, BadSetting, HookrunnerError
from hookrunner.options import Compat

COMMANDS = {
    "start": ("start", "Find hooks and run them when things happen."),
    "sandbox": ("sandbox", "Serve a Kubernetes API from this process: no cluster needed."),
    "queue": ("debug", "Look at the queues of a running hookrunner."),
    "hook": ("hook", "Write, check and test hooks without a cluster; look at those that run."),
    "module": ("module", "See the modules of a running hookrunner; write, check and test them."),
    "global": ("global_values", "Look at the values that all modules share, and at global hooks."),
    "new": ("new", "Begin with something that works."),
    "webhooks": ("webhooks", "See and remove what hookrunner has registered in a cluster."),
    "config": ("debug", "Read and set what can be changed while hookrunner runs."),
    "raw": ("debug", "Fetch any PATH of the debug endpoint."),
    "shell-lib": ("about", "Print the path of the shell framework for hooks."),
    "completion": ("about", "Print the completion script for a shell."),
    "debug-options": ("about", "List the flags that `start --help` leaves out."),
    "version": ("about", "Print the version, and which jq it carries."),
}
"""Each command's file in this room and its line in the help."""


def _identifier(name: str) -> str:
    return name.replace("-", "_") + "_" * iskeyword(name)


class Commands(Lazy):
    """A command's name in its file is its name with `_` for `-`, and one behind a word of Python."""

    table: ClassVar = {name: (file, _identifier(name), line) for name, (file, line) in COMMANDS.items()}


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="%(prog)s %(version)s")
@click.option(
    "--no-color", is_flag=False, flag_value="1", default="", envvar="NO_COLOR", metavar="", help="No colours."
)
@click.pass_context
def cli(ctx: click.Context, no_color: str) -> None:
    """Run executables (hooks) when something happens in a Kubernetes cluster.

    \b
    hookrunner start --sandbox             run the hooks below ./hooks on a cluster in this process
    hookrunner start --hooks-dir hooks     run them on your cluster
    hookrunner queue list                  see what waits
    hookrunner start --help                all settings
    """
    if no_color:
        ctx.color = False


def main() -> None:
    """Run the command line of this process and end it."""
    program = PurePath(sys.argv[0]).name
    arguments = sys.argv[1:]
    if program in tuple(Compat) and not arguments:
        arguments = ["start"]
    sys.exit(run(arguments, "hookrunner" if program == "__main__.py" else program))


def run(arguments: list[str], program: str) -> int:
    """Run one command line and return its exit code. `program` is the name that we were started under."""
    try:
        code = cli.main(arguments, prog_name=program, standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        echo(error.format_message())
        return 0
    except click.ClickException as error:
        show_error(error)
        return error.exit_code
    except BadSetting as error:
        command = "sandbox" if "sandbox" in arguments[:1] else "start"
        echo(f"Error: {error}\nTry '{program} {command} --help' for all settings.", err=True)
        return 2
    except BadInput as error:
        echo(f"Error: {error}", err=True)
        return 2
    except (click.Abort, KeyboardInterrupt):
        return 130
    except BrokenPipeError:  # `| head` has seen enough; whatever is still in our buffers must not fail at the exit
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        return 1
    except HookrunnerError as error:
        echo(f"Error: {error}", err=True)
        return 1
    except Exception as error:
        return _unexpected(error)


def _unexpected(error: Exception) -> int:
    """A bug: the whole story into the log, one short line for the person."""
    # Costs 60 ms and is needed only here.
    from hookrunner import log

    log.get("cli").error("unexpected error", exc_info=error)
    log.flush(1)
    echo(f"Error: unexpected {type(error).__name__}: {error}. This is a bug: please report it.", err=True)
    return 1
