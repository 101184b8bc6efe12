"""The image, built from the Dockerfile and run."""
