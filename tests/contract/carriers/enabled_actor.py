#!/usr/bin/env python3
"""An `enabled` script that does what the file beside it says, `NAME.script.json`, and writes what it was given into
`NAME.seen`. Actions as in actor.py, and {"result": text} {"reason": text} {"raise": text}."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

ME = Path(sys.argv[0]).absolute()
FILES = {"result": "MODULE_ENABLED_RESULT", "reason": "MODULE_ENABLED_REASON"}


def do(action: dict[str, Any]) -> None:
    ((kind, what),) = action.items()
    if kind in FILES:
        Path(os.environ[FILES[kind]]).write_text(what)
    elif kind in ("out", "err"):
        print(what, file=sys.stdout if kind == "out" else sys.stderr, flush=True)
    elif kind == "exit":
        os._exit(what)
    elif kind == "kill":
        os.kill(os.getpid(), what)
    elif kind == "raise":
        raise RuntimeError(what)
    elif kind == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif kind == "hang":
        signal.pause()


given = {
    "values": json.loads(Path(os.environ["VALUES_PATH"]).read_text()),
    "config": json.loads(Path(os.environ["CONFIG_VALUES_PATH"]).read_text()),
    "arguments": sys.argv[1:],
}
ME.with_name(ME.name + ".seen").write_text(json.dumps(given))
for action in json.loads(ME.with_name(ME.name + ".script.json").read_text()):
    do(action)
