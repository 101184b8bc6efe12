"""Patches of objects: documents in, documents out, as the API server carries them out. Raises `PatchRefused`."""
