"""The schemas of a section's values in its `openapi/` directory: load, fill in defaults, check.

    schemas = load(directory, "ingressNginx")
    config = schemas.config.defaults(config) if schemas.config else config

Own code, because no library reads such schemas as addon-operator does (docs/decisions.md).
"""

from hookrunner.values.schemas.schema import SectionSchema
from hookrunner.values.schemas.schema_files import Schemas, load

__all__ = ["Schemas", "SectionSchema", "load"]
