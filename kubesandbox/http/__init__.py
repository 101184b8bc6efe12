"""HTTP: what a request asks for by its path and headers, and the answer. `server.py`, one level up, joins them."""
