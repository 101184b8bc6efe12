"""Test cases of modules: values in, objects out (docs/module-test.md)."""
