"""hookrunner: executables that react to Kubernetes events."""

__version__ = "0.3.0"

SHELL_FRAMEWORK = f"{__path__[0]}/shell/shell_lib.sh"
"""What shell hooks source: `hookrunner shell-lib` prints its path."""
