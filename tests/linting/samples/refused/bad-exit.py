#!/usr/bin/env python3
"""Fails on --config."""

import sys

sys.exit("no such thing")
