"""What a real API server says of custom kinds, and Go's types (`types.json.gz`, which `builtin/` reads).

Written by `tests/controlplane/kinds_data.py` and `types_data.py`, never by hand. The built-in kinds, which hookrunner
uses too, are in `kubetypes/openapi/`.
"""

import gzip
from functools import cache
from importlib.resources import files


@cache
def custom_openapi(*, namespaced: bool) -> str:
    """The document of a custom kind with every subresource; names stand in it as `@tokens@`."""
    name = f"custom_{'namespaced' if namespaced else 'cluster'}.json.gz"
    return gzip.decompress(files(__name__).joinpath(name).read_bytes()).decode()
