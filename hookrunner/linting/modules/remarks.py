"""What a check has to say about a file of a module."""

from dataclasses import dataclass

from hookrunner.linting.modules.places import START, Position


@dataclass(frozen=True, slots=True)
class ModuleRemark:
    """`path` is in the module's directory, "" the directory itself; `text` is what, why, and how to mend it."""

    path: str
    place: Position = START
    code: str = ""
    text: str = ""
