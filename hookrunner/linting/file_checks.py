"""Checks of a file as such: first line, line ends, byte order mark, execute bit, duplicate keys, and who may write to
it.

A duplicate key counts with its last value, as in shell-operator; the first is lost without a message. They are looked
for in the here-documents of shell scripts, where configurations stand.
"""

import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path

from hookrunner.hooks import writable
from hookrunner.hooks.discovery import Skip, Skipped
from hookrunner.linting.findings import Finding, Remark
from hookrunner.linting.hook_source import Language, Source
from hookrunner.manifests.yaml_positions import readable_positions
from hookrunner.safe_files import User

_COMPILED = "is a hook that is compiled into a program, addon-operator or a batch hook"
_REWRITE = "write it as an executable in bash, Python or any language, or take it away if it is not needed"
_READS = re.compile(r"BINDING_CONTEXT_PATH|--config\b|hook::run|KUBERNETES_PATCH_PATH")


def check_file(source: Source) -> Iterator[Remark]:
    """What is wrong with the bytes of a script. Nothing is said of compiled programs."""
    if source.binary:
        return
    if source.raw.startswith(BOM_UTF8):
        text = "begins with a byte order mark, so the system does not see its `#!`; save it as UTF-8 without BOM"
        yield Remark("bom", 0, text)
    if (offset := source.text.find("\r\n")) >= 0:
        text = (
            "has Windows line ends, of which the carriage return becomes part of words and values; "
            "save it with Unix line ends (dos2unix)"
        )
        yield Remark("crlf", offset, text)
    yield from _shebang(source)


def check_skipped(source: Source, skipped: Skipped) -> Iterator[Remark]:
    """What the start skips, if it looks like a hook: a data file without an execute bit is no mistake."""
    if skipped.why is Skip.COMPILED:
        yield Remark("compiled-hook", 0, f"{_COMPILED}, so it never runs here; {_REWRITE}")
    if not _hook_like(source):
        return
    match skipped.why:
        case Skip.NOT_EXECUTABLE:
            yield Remark("not-executable", 0, f"is not executable and is never run as a hook; chmod +x {skipped.path}")
        case Skip.LIBRARY:
            text = "lies below a directory named lib, where hooks are not looked for; move it, or take its execute bit"
            yield Remark("not-found", 0, text)
        case Skip.COMPILED | Skip.LINK | Skip.SOURCE | Skip.TEST:
            pass


def _hook_like(source: Source) -> bool:
    """A script that answers `--config` or reads a context. One of many modules of a program does neither."""
    return bool(_READS.search(source.code)) and (source.text.startswith("#!") or source.language is not Language.OTHER)


def _shebang(source: Source) -> Iterator[Remark]:
    first = source.text.partition("\n")[0].rstrip()
    words = first.removeprefix("#!").split()
    if not first.startswith("#!"):
        text = (
            "has no first line that names its interpreter, so the system cannot run it; begin with #!/usr/bin/env bash"
        )
    elif not words or not words[0].startswith("/"):
        named = f"'{words[0]}'" if words else "nothing"
        text = f"its first line names {named} where an absolute path is needed; write #!/usr/bin/env bash, or python3"
    elif words[0].endswith("/env") and len(words) > 2 and not words[1].startswith("-"):
        text = (
            f"Linux gives env all of '{' '.join(words[1:])}' as one name; write #!/usr/bin/env -S {' '.join(words[1:])}"
        )
    else:
        return
    yield Remark("shebang", 0, text)


_HERE = re.compile(r"<<(-?)[ \t]*(['\"]?)(\w+)\2[^\n]*\n(.*?)^[ \t]*\3$", re.MULTILINE | re.DOTALL)
_TABS = re.compile(r"^\t+", re.MULTILINE)


def check_keys(source: Source) -> Iterator[Remark]:
    """A remark on each key of a configuration that is in its mapping already."""
    if source.language is not Language.SHELL:
        return
    for document in _HERE.finditer(source.text):
        if "configVersion" in document[4]:
            for name, line in _again(_TABS.sub("", document[4]) if document[1] else document[4]):
                text = f"`{name}` is in this mapping already, and what it says there is lost; put both under one"
                start = _start(source.text, document.start(4), line)
                yield Remark("key-twice", max(start, source.text.find(name, start)), text)


def _start(text: str, offset: int, lines: int) -> int:
    """The offset of the line that is a number of lines below an offset."""
    for _ in range(lines):
        offset = text.index("\n", offset) + 1
    return offset


def _again(text: str) -> Iterator[tuple[str, int]]:
    """Keys that their mapping has already with their lines from 0; those up to the error in a text that is not YAML."""
    return ((position.name, position.first[0]) for _, position in readable_positions(text) if position.again)


def check_writers(path: Path) -> Iterator[Finding]:
    """What every user may change of a file or directory, in it, and of the directories above it."""
    here = Path.cwd().resolve()
    for finding in writable.findings(path, User.of_process()):
        if finding.by_all:
            shown = finding.path.relative_to(here) if finding.path.is_relative_to(here) else finding.path
            text = f"{finding.writers}, so that a start outside of a pod is refused; chmod o-w {shown}"
            yield Finding(str(shown), 1, 1, "writable", text)
