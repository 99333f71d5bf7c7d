# One image per service: `docker build --build-arg SERVICE=sync-engine --tag mailroom/sync-engine .`; SERVICE names a
# stage of the last section. `make images` builds all of them.

# The public base of both stages: an environment works only with the interpreter that it was made for. To pin it, or to
# take another: --build-arg PYTHON_IMAGE=registry.example/python@sha256:… (docs/install.md).
ARG PYTHON_IMAGE=python:3.13-slim-trixie
ARG SERVICE=webhook-gateway


FROM ${PYTHON_IMAGE} AS tools
# A package index of the site's own; nothing of this stage's environment is part of the result.
ARG PIP_INDEX_URL=
ENV UV_DEFAULT_INDEX=${PIP_INDEX_URL} UV_PYTHON_DOWNLOADS=never UV_NO_CONFIG=1 UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1
WORKDIR /source

# What builds. Names and versions are those of `build.txt`, hashes those of the constraints.
COPY requirements-uv.txt requirements-dev.txt deploy/images/requirements/build.txt ./
RUN --mount=type=cache,target=/root/.cache \
    python3 -m venv /opt/build && \
    /opt/build/bin/pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-uv.txt && \
    /opt/build/bin/uv pip install --quiet --python /opt/build/bin/python --no-deps --require-hashes \
        --requirement build.txt --constraint requirements-dev.txt


# Our own packages, once for all images.
FROM tools AS wheels
COPY . .
RUN for package in libs/* services/* cli sandbox; do \
        /opt/build/bin/uv build --quiet --wheel --no-build-isolation --python /opt/build/bin/python \
            --out-dir /opt/wheels "$package" || exit 1; \
    done


FROM tools AS build
ARG SERVICE
# Dependencies before code: this layer is built anew only when they change.
COPY requirements.txt deploy/images/requirements/${SERVICE}.txt ./
RUN --mount=type=cache,target=/root/.cache \
    python3 -m venv --without-pip /opt/mailroom && \
    /opt/build/bin/uv pip install --quiet --python /opt/mailroom/bin/python --no-deps --require-hashes \
        --requirement ${SERVICE}.txt --constraint requirements.txt
# Without an index: a dependency that the file above lacks ends the build.
COPY --from=wheels /opt/wheels /opt/wheels
RUN case ${SERVICE} in cli) package="mailroom-cli[services]" ;; *) package=mailroom-${SERVICE} ;; esac && \
    /opt/build/bin/uv pip install --quiet --python /opt/mailroom/bin/python --no-index --find-links /opt/wheels "$package"


FROM ${PYTHON_IMAGE} AS runtime
# What installs packages goes: the public base brings pip, Debian's Python the wheel to make one.
RUN rm -rf /usr/local/bin/pip* /usr/bin/pip* /usr/local/lib/python3*/site-packages/pip* /usr/local/lib/python3*/ensurepip \
        /usr/lib/python3*/ensurepip /usr/share/python-wheels && \
    echo 'mailroom:x:10001:10001::/nonexistent:/usr/sbin/nologin' >> /etc/passwd && \
    echo 'mailroom:x:10001:' >> /etc/group
COPY --from=build /opt/mailroom /opt/mailroom
ENV PATH=/opt/mailroom/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 HOME=/tmp
# By number: Kubernetes can tell only of a number that it is not root's.
USER 10001:10001
# Outside of /opt/mailroom, so that `python -m` finds nothing here.
WORKDIR /tmp
STOPSIGNAL SIGTERM


# What each image starts; `docker run IMAGE worker` adds the role where a service has several.
FROM runtime AS webhook-gateway
ENTRYPOINT ["python", "-m", "webhook_gateway"]

FROM runtime AS subscription-manager
ENTRYPOINT ["python", "-m", "subscription_manager"]

FROM runtime AS sync-engine
ENTRYPOINT ["python", "-m", "sync_engine"]

FROM runtime AS ingestion
ENTRYPOINT ["python", "-m", "ingestion"]

FROM runtime AS cli
ENTRYPOINT ["mailroom"]

FROM runtime AS sandbox
# A volume of Docker's takes the owner of the folder that it is mounted on.
USER 0:0
RUN install -d -o 10001 -g 10001 /state
USER 10001:10001
# The demo's mails, where a package that is no checkout looks for them.
WORKDIR /opt/mailroom
COPY sandbox/mails sandbox/mails
ENTRYPOINT ["mailroom-sandbox"]


FROM ${SERVICE}
ARG SERVICE
ARG PYTHON_IMAGE
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="mailroom-${SERVICE}" \
      org.opencontainers.image.description="Mailroom: mail of Outlook and Gmail mailboxes becomes filed documents" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${PYTHON_IMAGE}"
