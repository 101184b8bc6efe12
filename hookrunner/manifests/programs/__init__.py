"""Steps of a build that run programs: kustomize, and the executables of `postRender`."""
