"""hookrunner: executables that react to Kubernetes events."""

__version__ = "0.3.0"
