"""Checks of a file as such, before anybody reads it: first line, line ends, byte order mark, execute bit."""

import re
from codecs import BOM_UTF8
from collections.abc import Iterator

from hookrunner.hooks.discovery import Skip, Skipped
from hookrunner.linting.findings import Remark
from hookrunner.linting.source import Language, Source

_COMPILED = "is a hook that is compiled into a program, addon-operator or a batch hook"
_REWRITE = "write it as an executable in bash, Python or any language, or take it away if it is not needed"
_READS = re.compile(r"BINDING_CONTEXT_PATH|--config\b|hook::run|KUBERNETES_PATCH_PATH")


def check(source: Source) -> Iterator[Remark]:
    """What is wrong with the bytes of a script. Nothing is said of compiled programs."""
    if source.binary:
        return
    if source.raw.startswith(BOM_UTF8):
        text = "begins with a byte order mark, so the system does not see its `#!`; save it as UTF-8 without BOM"
        yield Remark("bom", 0, text)
    if (place := source.text.find("\r\n")) >= 0:
        text = (
            "has Windows line ends, of which the carriage return becomes part of words and values; "
            "save it with Unix line ends (dos2unix)"
        )
        yield Remark("crlf", place, text)
    yield from _shebang(source)


def skipped(source: Source, one: Skipped) -> Iterator[Remark]:
    """What the start skips, if it looks like a hook: a data file without an execute bit is nobody's mistake."""
    if one.why is Skip.COMPILED:
        yield Remark("compiled-hook", 0, f"{_COMPILED}, so it never runs here; {_REWRITE}")
    if not _hook_like(source):
        return
    match one.why:
        case Skip.NOT_EXECUTABLE:
            yield Remark("not-executable", 0, f"is not executable and is never run as a hook; chmod +x {one.path}")
        case Skip.LIBRARY:
            text = "lies below a directory named lib, where hooks are not looked for; move it, or take its execute bit"
            yield Remark("not-found", 0, text)
        case Skip.COMPILED | Skip.LINK | Skip.SOURCE:
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
