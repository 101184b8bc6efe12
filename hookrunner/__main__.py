"""The console script, and `python -m hookrunner`.

Shell hooks ask for the path of their framework in each run. That is answered here, without the command line: to import
it takes 50 ms of CPU time, more than most hooks.
"""

import sys

from hookrunner import SHELL_FRAMEWORK


def main() -> None:
    """Run the command line of this process and end it."""
    if sys.argv[1:] == ["shell-lib"]:
        print(SHELL_FRAMEWORK)
        return
    from hookrunner.cli.main import main as run_command_line

    run_command_line()


if __name__ == "__main__":
    main()
