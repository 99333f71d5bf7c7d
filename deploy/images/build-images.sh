#!/usr/bin/env bash
# Builds the images of Mailroom with Docker, or with podman where there is no Docker server:
#
#   deploy/images/build-images.sh [SERVICE…]          all by default
#
#   ENGINE=podman                  which of the two
#   PYTHON_IMAGE=NAME[@DIGEST]     another base than the Dockerfile's; where podman has a stand-in of that, the stand-in
#   PIP_INDEX_URL=URL              another package index
#   PREFIX=registry.example/mail   images are named PREFIX/SERVICE:TAG (mailroom)
#   TAG=1.2.3                      their tag and version (the version of the packages)
set -euo pipefail
cd "$(dirname "$0")/../.."

all=(webhook-gateway subscription-manager sync-engine ingestion cli sandbox)
services=("${@:-${all[@]}}")
version=$(sed -n 's/^version = "\(.*\)"/\1/p' libs/common/pyproject.toml)
prefix=${PREFIX:-mailroom} tag=${TAG:-$version}
if [ -z "${ENGINE:-}" ]; then
    if docker info > /dev/null 2>&1; then ENGINE=docker; else ENGINE=podman; fi
fi
options=()
if [ "$ENGINE" = podman ]; then
    export CONTAINERS_CONF=${CONTAINERS_CONF:-$PWD/deploy/images/containers.conf}
    options+=(--network host --layers)
fi
[ -z "${PYTHON_IMAGE:-}" ] || options+=(--build-arg "PYTHON_IMAGE=$PYTHON_IMAGE")
[ -z "${PIP_INDEX_URL:-}" ] || options+=(--build-arg "PIP_INDEX_URL=$PIP_INDEX_URL")
revision=$(git rev-parse HEAD 2> /dev/null || echo unknown)

for service in "${services[@]}"; do
    case " ${all[*]} " in
    *" $service "*) ;;
    *) echo "$service: no image has that name; there are ${all[*]}" >&2; exit 2 ;;
    esac
    # Said twice: podman 4 takes the Dockerfile's labels from its cache, with the version of an earlier build.
    "$ENGINE" build "${options[@]}" --build-arg "SERVICE=$service" --build-arg "VERSION=$tag" \
        --build-arg "REVISION=$revision" --label "org.opencontainers.image.version=$tag" \
        --label "org.opencontainers.image.revision=$revision" --tag "$prefix/$service:$tag" .
    echo "built $prefix/$service:$tag"
done
