"""What stands in the cells of kubectl's tables: one module per area, each with `CELLS`, functions by stored resource.

A function gets an object and the time and returns the cells in the order of the kind's columns, as the API server's
printers do (compared with a real one by the tests).
"""
