"""The documents that schemas stand in: a module's own files, and whatever other files their `$ref`s name, as several
modules share a schema (`$ref: /schemas/node.yaml#/definitions/node`).

A relative path begins where the file stands that it is written in; if nothing is there, in the working directory, where
the predecessor looks.
"""

import os
from pathlib import Path

from hookrunner import regular_files, yaml_values
from hookrunner.model.resources import JSON
from hookrunner.values import pointers


class NotThere(LookupError):
    """A reference leads nowhere; the message goes on after the reference."""


class Documents:
    """`own` is the module's file `name`, which stands in `directory`. Others are read when they are asked for."""

    def __init__(self, directory: Path, name: str, own: JSON) -> None:
        self._directory = directory
        self._read: dict[str, JSON] = {name: own}

    def place(self, reference: str, at: str) -> str:
        """What a `$ref` at a place names: file and JSON pointer."""
        file, _, pointer = reference.partition("#")
        here = at.partition("#")[0]
        if not file:
            return f"{here}#{pointer}"
        beside = (self._directory / here).parent / file
        return f"{(beside if os.path.exists(beside) else Path(file)).absolute()}#{pointer}"

    def at(self, place: str) -> JSON:
        """The value at a place. Raises NotThere. Source: RFC 6901."""
        file, _, pointer = place.partition("#")
        value = self._document(file)
        for key in pointers.tokens(pointer):
            if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
                value = value[int(key)]
            elif isinstance(value, dict) and key in value:
                value = value[key]
            else:
                raise NotThere("refers to nothing in this file; write #/definitions/NAME")
        return value

    def _document(self, file: str) -> JSON:
        if file not in self._read:
            try:
                found = yaml_values.documents(regular_files.read(Path(file)), yaml_values.YAML_1_1)
                self._read[file] = next(found, None)
            except yaml_values.BadDocument as error:
                raise NotThere(f"refers to a file that is {error}") from None
            except (OSError, ValueError) as error:
                raise NotThere(f"refers to a file that cannot be read: {error.args[-1]}") from None
        return self._read[file]
