"""The command `python -m benchmarks`: measures hookrunner and other operators in one run and prints a table."""

import argparse
import asyncio
import shlex
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.addons.addon_rows import ADDONS
from benchmarks.cloud.clouds import UPSTREAM, UPSTREAM_WITH_TEN
from benchmarks.cluster import Refused, connected, control_plane
from benchmarks.measure import Result, measure
from benchmarks.programs import Program, TookTooLong
from benchmarks.rows import CLOUD, GROUPS, MODULES
from benchmarks.scenarios import QUICK, Bed, Sizes
from benchmarks.table import FORMATS
from tests.controlplane.cache import BedUnavailable

SUITES = {"hooks": GROUPS, "modules": MODULES, "addons": ADDONS, "cloud": CLOUD}
_STARTS = {"cloud": "cloud start"}
"""How hookrunner is started for a suite, where it is not `start`."""

EXAMPLE = """\
example:
  python -m benchmarks --peer '/usr/local/bin/shell-operator start'     # everything, about 12 minutes on two cores
  python -m benchmarks --only idle --only events                        # hookrunner alone, two of the scenarios
  python -m benchmarks modules --peer '/usr/local/bin/addon-operator start'
  python -m benchmarks addons --only many                               # instances of addons against as many modules
  python -m benchmarks cloud                                            # beside Kubernetes' own cloud manager
"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; 0 measured, 1 something did not work, 2 bad usage."""
    parser = _parser()
    options = parser.parse_args(arguments)
    names = [group.name for group in SUITES[options.suite]]
    if strange := [name for name in options.only if name not in names]:
        parser.error(f"argument --only: {strange[0]}: {options.suite} has {', '.join(names)}")
    try:
        with control_plane(options.kube_config) as kubeconfig:
            result = asyncio.run(_measure(options, kubeconfig))
    except (BedUnavailable, Refused, TookTooLong) as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    print(FORMATS[options.output](result))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure hookrunner, and peers side by side, on a control plane of its own.",
        epilog=EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("suite", nargs="?", choices=SUITES, default="hooks", help="what is measured (default: hooks)")
    parser.add_argument("--hookrunner", metavar="COMMAND", help="default: the one of this Python")
    parser.add_argument("--peer", metavar="COMMAND", action="append", default=[], help="another operator; repeatable")
    parser.add_argument("--only", metavar="ROWS", action="append", default=[], help=f"{_names()}; repeatable")
    parser.add_argument("--repeat", metavar="N", type=int, default=3, help="rounds, at most (default: 3)")
    parser.add_argument("--soak", metavar="SECONDS", type=int, help="how long `soak` runs (default: 60)")
    parser.add_argument("--quick", action="store_true", help="a little of everything: shows that it works, no figures")
    parser.add_argument("--kube-config", metavar="FILE", type=Path, help="a running cluster of tests.controlplane")
    parser.add_argument("-o", "--output", choices=FORMATS, default="text", help="text, markdown or json")
    return parser


async def _measure(options: argparse.Namespace, kubeconfig: Path) -> Result:
    own = _STARTS.get(options.suite, "start")
    ours = options.hookrunner or f"{shlex.quote(sys.executable)} -m hookrunner {own}"
    beside = [UPSTREAM, UPSTREAM_WITH_TEN] * (options.suite == "cloud")
    programs = [Program("hookrunner", tuple(shlex.split(ours))), *beside, *map(_peer, options.peer)]
    with tempfile.TemporaryDirectory(prefix="hookrunner-benchmarks-") as scratch:
        async with connected(kubeconfig) as cluster:
            sizes = QUICK if options.quick else Sizes()
            bed = Bed(cluster, Path(scratch), replace(sizes, soak_seconds=options.soak or sizes.soak_seconds))
            chosen = [group for group in SUITES[options.suite] if not options.only or group.name in options.only]
            return await measure(bed, programs, chosen, options.repeat)


def _names() -> str:
    return "; ".join(f"{suite}: {', '.join(group.name for group in groups)}" for suite, groups in SUITES.items())


def _peer(command: str) -> Program:
    words = tuple(shlex.split(command))
    return Program(Path(words[0]).name, words)


if __name__ == "__main__":
    sys.exit(main())
