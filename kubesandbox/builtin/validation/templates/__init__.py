"""Pods and what their templates are made of: containers, volumes and claims, scheduling."""
