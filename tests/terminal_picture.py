"""The picture in the README: its first command is run in a terminal, and what is seen becomes docs/first-minute.svg.

    python -m tests.terminal_picture    # after a change of what the first minute shows

`tests/test_terminal_picture.py` runs it again and compares the words.
"""

import json
import os
import pty
import re
import select
import shlex
import signal
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from html import escape
from pathlib import Path

from tests import launcher
from tests.sandboxes import read_access

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "first-minute.svg"
COMMAND = re.compile(r"pip install \. && hookrunner (.*)")
SECOND = "kubectl create namespace party"
"""What is typed into the other terminal; here a request does it, because a newcomer may have no kubectl."""
_PATIENCE = 60.0
_COLUMNS, _LINE, _CHARACTER = 100, 18, 8
_COLORS = {"2": "#8b949e", "31": "#ff7b72", "33": "#d29922", "36": "#76e3ea", "32": "#7ee787"}
_STYLED = re.compile(r"\x1b\[(\d+)m(.*?)\x1b\[0m|([^\x1b]+)")


def record(home: Path) -> list[str]:
    """Run the README's first command in a terminal, create a Namespace, stop it; the lines with their colours. Files
    are in `home`. Raises TimeoutError if it does not show what it should."""
    (command,) = COMMAND.findall((ROOT / "README.md").read_text())
    ours, theirs = pty.openpty()
    program = launcher.execute(shlex.split(command), cwd=ROOT, env=_variables(home), stdout=theirs, stderr=theirs)
    os.close(theirs)
    screen = _Screen(ours)
    try:
        screen.wait_for("Hook executed")
        create_namespace(home / "kubeconfig", "party")
        screen.wait_for("Hook executed", times=2)
    finally:
        program.send_signal(signal.SIGINT)
        screen.wait_for("", until=lambda: program.poll() is not None)
        os.close(ours)
    text = screen.text.replace(str(home / "kubeconfig"), "/tmp/kubeconfig").replace("\r\n", "\n")
    first, second = text.split("hello, party", 1)
    first, _, last = first.rpartition("\n")
    typed = [f"\x1b[32m$ hookrunner {command}\x1b[0m", *first.splitlines()]
    return [*typed, f"\x1b[32m# in another terminal: {SECOND}\x1b[0m", *f"{last}hello, party{second}".splitlines()]


def create_namespace(kubeconfig: Path, name: str) -> None:
    """Create it in the sandbox that wrote this file."""
    access = read_access(kubeconfig)
    body = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}).encode()
    headers = {**access.headers, "Content-Type": "application/json"}
    request = urllib.request.Request(f"{access.url}/api/v1/namespaces", body, headers)
    urllib.request.urlopen(request, context=access.tls).close()


class _Screen:
    """What a program writes to a terminal."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self.text = ""
        os.set_blocking(fd, False)

    def wait_for(self, words: str, times: int = 1, until: Callable[[], bool] = lambda: True) -> None:
        """Read until these words have come so often. Raises TimeoutError."""
        deadline = time.monotonic() + _PATIENCE
        while self.text.count(words) < times or not until():
            self._read()
            if time.monotonic() > deadline:
                raise TimeoutError(f"{words}: {self.text}")
        self._read()

    def _read(self) -> None:
        select.select([self._fd], [], [], 0.1)
        try:
            self.text += os.read(self._fd, 1 << 16).decode()
        except OSError:  # nothing to read now, or the program has ended
            return


def _variables(home: Path) -> dict[str, str]:
    """Those of a newcomer who has Python and nothing else; only places that others may use are elsewhere."""
    (home / "bin").mkdir()
    (home / "bin" / "python3").symlink_to(sys.executable)
    return {
        "PATH": str(home / "bin"),
        "HOME": str(home),
        "HOOKRUNNER_LISTEN_PORT": "0",
        "HOOKRUNNER_TMP_DIR": str(home / "tmp"),
        "HOOKRUNNER_DEBUG_UNIX_SOCKET": str(home / "socket"),
        "HOOKRUNNER_SANDBOX_KUBECONFIG": str(home / "kubeconfig"),
    }


def draw(lines: list[str]) -> str:
    """The lines as an SVG; one that is longer than the terminal goes on in the next line."""
    rows = [row for line in lines for row in _rows(line)]
    width, height = _COLUMNS * _CHARACTER + 32, len(rows) * _LINE + 28
    texts = [f'<text x="16" y="{_LINE * (index + 1) + 8}">{row}</text>' for index, row in enumerate(rows)]
    style = "font: 13px ui-monospace, monospace; fill: #e6edf3; white-space: pre"
    size = f'viewBox="0 0 {width} {height}" xml:space="preserve"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} style="{style}">'
    return "\n".join([head, '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>', *texts, "</svg>", ""])


def _rows(line: str) -> list[str]:
    """The rows of a line, with its colours."""
    rows, left = [""], _COLUMNS
    for color, painted, plain in _STYLED.findall(line):
        rest = painted or plain
        while rest:
            part, rest = rest[:left], rest[left:]
            left -= len(part)
            rows[-1] += f'<tspan fill="{_COLORS[color]}">{escape(part)}</tspan>' if color else escape(part)
            if not left:
                rows, left = [*rows, ""], _COLUMNS
    return [row for row in rows if row]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        PICTURE.write_text(draw(record(Path(directory))))
