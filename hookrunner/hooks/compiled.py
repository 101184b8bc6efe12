"""Go sources among hooks: which of them are hooks of addon-operator that are compiled into a program.

Such a hook registers itself with an SDK, and the build of the program imports its package. There is no file to execute,
so the hook never runs here.

Sources: https://github.com/flant/addon-operator/blob/main/HOOKS.md#go-hooks and the SDK of batch hooks,
https://github.com/deckhouse/module-sdk
"""

import re
from pathlib import Path
from typing import Literal

from hookrunner import regular_files

SUFFIX = ".go"
_TEST = "_test.go"
_ELF = b"\x7fELF"
_LARGEST = 1 << 20
"""Bytes of a source that are looked at."""

_ADDON = re.compile(r'"[^"\s]*(?:/addon-operator/sdk|/go_lib/hooks/[^"\s]+)"')
_BATCH = re.compile(r'"[^"\s]*/module-sdk/(?:pkg/registry|common-hooks/[^"\s]+)"')
_REGISTERS = re.compile(r"\b\w+\.Register\w*(?:\[[^\]]*\])?\s*\(")
_TEXT_OR_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*"|`[^`]*`|\'(?:[^\'\\\n]|\\.)+\')|//[^\n]*|/\*.*?\*/', re.DOTALL)

GoSource = Literal["compiled", "batch", "script", "other"]
"""`compiled` is a hook of addon-operator's SDK, `batch` one of a batch hook's program, `script` begins with `#!`, or
is a program in spite of its name."""


def kind_of(path: Path) -> GoSource:
    """What a Go source is. One that cannot be read is `other`."""
    try:
        with regular_files.opened(path) as file:
            raw = file.read(_LARGEST)
    except OSError:
        return "other"
    if raw.startswith(_ELF):
        return "script"
    return "other" if path.name.endswith(_TEST) else _of_text(raw.decode(errors="replace"))


def is_program(path: Path) -> bool:
    """Is this a compiled program of Linux?"""
    try:
        with regular_files.opened(path) as file:
            return file.read(4) == _ELF
    except OSError:
        return False


def _of_text(text: str) -> GoSource:
    if text.startswith("#!"):
        return "script"
    code = _TEXT_OR_COMMENT.sub(lambda match: match[1] or " ", text)
    if not _REGISTERS.search(code):
        return "other"
    if _ADDON.search(code):
        return "compiled"
    return "batch" if _BATCH.search(code) else "other"
