"""What the values of a section must be, by the schemas in its `openapi/` directory: load, fill in defaults, check.

    schemas = load(directory, "ingressNginx")
    config = schemas.config.defaults(config) if schemas.config else config

Own code, because nothing that can be imported reads such schemas as addon-operator does (docs/decisions.md).
"""

from hookrunner.values.schemas.schema import Schema
from hookrunner.values.schemas.schema_files import Schemas, load

__all__ = ["Schema", "Schemas", "load"]
