"""What `hookrunner cloud check` does: ask a provider everything that it may be asked, and say what is wrong with it."""
