"""The simulated cloud: one JSON file, changed under a lock and replaced as a whole, and a log of calls beside it.

Several processes read and change it at once: calls of a controller, and a person who stops machines meanwhile.
"""

import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

Document = dict[str, Any]

FIRST_INSTANCES = ("control-plane-1", "worker-1", "worker-2", "worker-3")
LONGEST_LOG = 16 * 2**20
PER_BYTE = 250
"""Addresses of a pool with the same third byte: .1 to .250."""


def state_file() -> str:
    """The path of the state: `CLOUD_CONFIG`, or a file in a directory under TMPDIR that only this user may enter.

    Raises SystemExit if that directory is another user's.
    """
    if named := os.environ.get("CLOUD_CONFIG"):
        return named
    directory = os.path.join(os.environ.get("TMPDIR") or "/tmp", f"simcloud-{os.getuid()}")
    os.makedirs(directory, mode=0o700, exist_ok=True)
    found = os.lstat(directory)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid():
        raise SystemExit(f"{directory}: is not a directory of this user; set CLOUD_CONFIG to the path of a file")
    return os.path.join(directory, "cloud.json")


def read_state() -> Document:
    """All of it. A cloud that does not exist yet begins with a control plane and three workers."""
    try:
        return _load(state_file())
    except FileNotFoundError:
        with changing_state() as state:
            return state


def changing_state() -> AbstractContextManager[Document]:
    """The state, to be changed in place; written at the end if it is another one then. Nothing is written after an
    exception."""
    return changing(state_file())


@contextmanager
def changing(file: str) -> Iterator[Document]:
    """The same for the state in this file."""
    with open(f"{file}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            state = _load(file)
            before = json.dumps(state)
        except FileNotFoundError:
            state, before = first_state(), ""
        yield state
        if (after := json.dumps(state)) != before:
            _replace(file, after)


def _load(file: str) -> Document:
    with open(file, encoding="utf-8") as opened:
        text = opened.read()
    if not text.strip():
        raise FileNotFoundError(file)  # `touch cloud.json` begins a cloud as well
    loaded: Document = json.loads(text)
    return first_state(()) | loaded


def _replace(file: str, text: str) -> None:
    with open(f"{file}.new", "w", encoding="utf-8") as written:
        written.write(text)
        written.flush()
        os.fsync(written.fileno())
    os.replace(f"{file}.new", file)


def first_state(names: tuple[str, ...] = FIRST_INSTANCES) -> Document:
    """A cloud with some instances and nothing else."""
    state: Document = {
        "capabilities": {},
        "instances": {},
        "loadBalancers": {},
        "routes": [],
        "numbers": {},
        "faults": [],
    }
    for name in names:
        add_instance(state, name)
    return state


def add_instance(
    state: Document, name: str, *, zone: str = "zone-a", region: str = "region-1", kind: str = "sim.small"
) -> None:
    """A running instance. One that comes again under its name has its old addresses and another id."""
    number = take_number(state, "node", name)
    state["numbers"]["instances"] = made = state["numbers"].get("instances", 0) + 1
    state["instances"][name] = {
        "id": f"i-{made:04}",
        "state": "running",
        "zone": zone,
        "region": region,
        "type": kind,
        "addresses": [
            {"type": "Hostname", "address": name},
            {"type": "InternalIP", "address": pool_address("10.240", number)},
            {"type": "ExternalIP", "address": pool_address("198.19", number)},
        ],
        "labels": {},
    }


def take_number(state: Document, pool: str, name: str) -> int:
    """The number that a name has in a pool: always the same, from 0."""
    numbers: dict[str, int] = state["numbers"].setdefault(pool, {})
    return numbers.setdefault(name, len(numbers))


def pool_address(prefix: str, number: int) -> str:
    """An address of a pool: `10.240` and 251 are 10.240.1.2."""
    return f"{prefix}.{number // PER_BYTE}.{number % PER_BYTE + 1}"


def log_file() -> str:
    """The path of the log of calls; `.1` at its end is the part before."""
    return f"{state_file()}.calls"


def log_call(entry: Document) -> None:
    """Append a call as one line of JSON. One write for each line, so that lines of several processes do not mix."""
    file = log_file()
    line = json.dumps({"time": round(time.time(), 3), **entry}) + "\n"
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
        longer = os.fstat(descriptor).st_size > LONGEST_LOG
    finally:
        os.close(descriptor)
    if longer:
        os.replace(file, f"{file}.1")
