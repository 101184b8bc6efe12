"""Everything that answers over HTTP: the public server and the debug endpoint."""
