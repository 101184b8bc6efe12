#!python3
"""Its interpreter is no path."""

print('{"configVersion": "v1", "onStartup": 1}')
