"""Measures hookrunner beside another operator with the same hooks: `python -m benchmarks` (docs/benchmarks.md)."""
