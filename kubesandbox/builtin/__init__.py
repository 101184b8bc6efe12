"""The rules that the API server has in code for its built-in kinds, as pure functions over JSON.

`decode` what Go's decoding keeps and refuses, `defaults` what is filled in, `validation` and `metadata` what is
refused, `strategy` what a create or an update resets. The real API server is the oracle of every rule
(tests/kubesandbox/builtin).
"""
