"""What three or more rooms use: the real control plane and the fault proxy. See `tests/controlplane/README.md`."""

pytest_plugins = ("tests.controlplane.fixtures", "tests.faults.fixtures")
