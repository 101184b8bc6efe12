"""`hookrunner module …` and `hookrunner global …`."""
