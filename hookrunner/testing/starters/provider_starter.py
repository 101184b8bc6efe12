"""New providers of a cloud: one executable that knows three pretend machines. The texts are the files beside this
one."""

import re
import shlex
from importlib.resources import files
from pathlib import Path

from hookrunner.errors import BadInput
from hookrunner.testing.starters.directory_starters import filled, write_new
from hookrunner.testing.starters.hook_starter import LANGUAGES

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def write_provider(name: str, language: str, directory: Path) -> Path:
    """The path of a new executable, which has its name without an extension: it is the scheme of providerIDs, too.

    Raises BadInput for a name that cannot be such a scheme, and if the file exists or cannot be made.
    """
    if not _NAME.fullmatch(name):
        raise BadInput(f"'{name}' can be no provider's name: lowercase letters, digits and '-', like my-cloud")
    path = directory / name
    text = (files("hookrunner.testing.starters") / f"provider.{LANGUAGES[language]}.txt").read_text("utf-8")
    shown = shlex.quote(str(path) if "/" in str(path) else f"./{path}")
    write_new({path: filled(text, {"@NAME@": name, "@PATH@": shown})})
    return path
