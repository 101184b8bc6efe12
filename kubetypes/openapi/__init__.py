"""The built-in kinds as a real API server describes them: their names and scopes, and their OpenAPI schemas.

The data is written by `tests/controlplane/kinds_data.py`, never by hand.
"""
