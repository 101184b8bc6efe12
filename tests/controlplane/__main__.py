"""Stands up a control plane for a person or for a test session: `python -m tests.controlplane`.

When it is ready, one line goes to standard output: `export KUBECONFIG=…`. It stops on Ctrl-C or SIGTERM, when the
process named by `--until-exit` ends, or, with an error, when one of its programs does.
"""

import argparse
import os
import select
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from tests.controlplane.build import find_binaries
from tests.controlplane.cache import BedUnavailable
from tests.controlplane.control_plane import ControlPlane

EXAMPLE = """\
example:
  python -m tests.controlplane > /tmp/cluster.env &      # the first time it builds for 5 to 10 minutes
  . /tmp/cluster.env && kubectl get nodes
"""


def main() -> int:
    """Run until told to stop; return the exit code: 0 stopped as asked, 1 failed."""
    options = parse_arguments()
    for signum in (signal.SIGINT, signal.SIGTERM):  # a shell's background job starts with SIGINT ignored
        signal.signal(signum, stop)
    try:
        binaries = find_binaries()
        with (
            scratch(options.keep) as directory,
            ControlPlane(binaries, directory, controllers=options.controllers) as plane,
        ):
            print(f"export KUBECONFIG={plane.kubeconfig}", flush=True)
            wait(plane, options.until_exit)
    except KeyboardInterrupt:
        pass
    except BedUnavailable as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.controlplane",
        description="Run a Kubernetes control plane here until Ctrl-C; prints `export KUBECONFIG=…` when it is ready.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--no-controllers",
        dest="controllers",
        action="store_false",
        help="etcd and the API server only: ready in 3 s, but no Deployment gets Pods and no namespace goes away",
    )
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep data and logs in this directory")
    parser.add_argument("--until-exit", metavar="PID", type=int, help="stop also when this process ends")
    return parser.parse_args()


@contextmanager
def scratch(keep: Path | None) -> Iterator[Path]:
    """Give a directory for data and logs: the one to keep, or a temporary one that is removed at the end."""
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.resolve()
        return
    directory = Path(tempfile.mkdtemp(prefix="hookrunner-cluster-"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def wait(plane: ControlPlane, until_exit: int | None) -> None:
    """Sleep until one of the plane's programs ends, which is an error, or the process `until_exit` does."""
    pids = [*plane.pids(), *([until_exit] if until_exit else [])]
    descriptors = [os.pidfd_open(pid) for pid in pids]
    select.select(descriptors, [], [])
    plane.check()


def stop(signum: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
