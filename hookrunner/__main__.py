"""`python -m hookrunner` is the console script."""

from hookrunner.cli.main import main

main()
