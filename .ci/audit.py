#!/usr/bin/env python3
"""Ask pip-audit whether versions in requirements/ have known weaknesses: `.ci/audit.py PIP_AUDIT FILE …`.

It needs the index's service of vulnerabilities, which mirrors do not have and closed networks do not reach. Without it
nothing is known, so the check is skipped, and a line says so. The exit code is 1 only if a weakness was found.
"""

import json
import subprocess
import sys

LONGEST = 180
"""Seconds for all files: pip-audit asks for each package in turn, and a network may swallow what it asks."""


def main(program: str, files: list[str]) -> int:
    words = [program, "--disable-pip", "--require-hashes", "--progress-spinner=off", "--timeout=10", "--format=json"]
    try:
        done = subprocess.run(
            [*words, *(f"--requirement={file}" for file in files)], capture_output=True, text=True, timeout=LONGEST
        )
        packages = json.loads(done.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        return skipped(f"no answer within {LONGEST} s")
    except (OSError, ValueError, KeyError, TypeError) as error:
        return skipped(f"pip-audit gave no report ({type(error).__name__})")
    known = [package for package in packages if "skip_reason" not in package]
    if not known:
        return skipped("the index knows of no package what is known about it")
    weak = [f"{p['name']} {p['version']}: {v['id']}{mend(v)}" for p in known for v in p["vulns"]]
    print("\n".join(weak) or f"{len(known)} of {len(packages)} packages have no known weakness")
    return 1 if weak else 0


def skipped(why: str) -> int:
    print(f"skipped: {why}")
    return 0


def mend(weakness: dict[str, list[str]]) -> str:
    versions = weakness.get("fix_versions")
    return f", mended in {', '.join(versions)}" if versions else ", not mended yet"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
