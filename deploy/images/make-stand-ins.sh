#!/usr/bin/env bash
# Makes stand-ins of the public images that our own are built from, for a machine that reaches Debian's packages but no
# registry: deploy/images/make-stand-ins.sh [NAME…], all of them by default. Needs root, debootstrap, podman and runc.
#
#   python     Debian's minimal system with its Python, under the name and tag of the Dockerfile's PYTHON_IMAGE
#   kafka, postgres, nginx, versitygw, prometheus
#              the servers of docker-compose.yml: Debian's Java with the jars that the sandbox runs; Debian's Postgres,
#              nginx and Prometheus; versitygw built by Go from its module
#
# Grafana has none: no package repository that a machine without registry reaches has it.
# A stand-in proves what is built on it, not the public image. Each has the label `mailroom.stand-in`.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CONTAINERS_CONF=${CONTAINERS_CONF:-$PWD/deploy/images/containers.conf}
cache=${MAILROOM_STAND_INS:-/var/cache/mailroom-stand-ins}
suite=trixie
mkdir -p "$cache"

# make_system FOLDER PACKAGE…: a Debian system, kept in the cache and moved into place when it is whole.
make_system() {
    local folder=$cache/$1 packages
    shift
    [ ! -d "$folder" ] || return 0
    rm -rf "$folder.new"
    packages=$(IFS=,; echo "$*")
    debootstrap --variant=minbase --include="$packages" $suite "$folder.new" > "$cache/debootstrap.log" 2>&1 ||
        { tail -n 5 "$cache/debootstrap.log" >&2; exit 1; }
    rm -rf "$folder.new"/var/cache/apt/archives/*.deb "$folder.new"/var/lib/apt/lists/*
    # A build reaches package indexes the way this machine does, through a proxy of its own where there is one.
    cp /etc/ssl/certs/ca-certificates.crt "$folder.new/etc/ssl/certs/ca-certificates.crt"
    mv "$folder.new" "$folder"
}

# import_image FOLDER IMAGE CHANGE…: an image that was made of the same folder stays, or all that is built on it would be built anew.
import_image() {
    local folder=$1 image=$2 change made_of
    shift 2
    made_of=$({ stat -c '%i %W' "$folder"; printf '%s\n' "$@"; } | sha256sum | cut -c 1-12)
    if [ "$(podman image inspect --format '{{index .Labels "mailroom.stand-in"}}' "$image" 2> /dev/null)" = "$made_of" ]; then
        return 0
    fi
    local changes=(--change "LABEL mailroom.stand-in=$made_of")
    for change in "$@"; do changes+=(--change "$change"); done
    tar -C "$folder" -c . | podman import --quiet "${changes[@]}" - "$image" > /dev/null
    echo "made $image"
}

make_python() {
    make_system python ca-certificates netbase python3 python3-venv tzdata
    ln -sf python3 "$cache/python/usr/bin/python"
    import_image "$cache/python" "localhost/$(sed -n 's/^ARG PYTHON_IMAGE=//p' Dockerfile)" \
        "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" \
        "ENV LANG=C.UTF-8" \
        "ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt" \
        'CMD ["python3"]'
}

# make_server NAME OPTION…: the image of docker-compose.yml whose name ends so.
make_server() {
    local name=$1 image
    shift
    image=localhost/$(sed -n "s/.*:-\(.*\b$name:[^}]*\)}.*/\1/p" docker-compose.yml)
    podman build --quiet --network host "$@" --target "$name" --tag "$image" deploy/images/stand-ins > /dev/null
    echo "made $image"
}

make_kafka() {
    local jars
    jars=$(.venv/bin/python -c '
import asyncio
from mailroom_sandbox.site.stack import home, jars
print(asyncio.run(jars.provide_jars(home.find_home().jars)))')
    make_server kafka --build-context "jars=$jars"
}

make_versitygw() {
    local version
    version=$(sed -n 's/.*versitygw:\(v[^}]*\)}.*/\1/p' docker-compose.yml)
    if [ ! -x "$cache/versitygw-$version/versitygw" ]; then
        GOBIN=$cache/versitygw-$version CGO_ENABLED=0 go install "github.com/versity/versitygw/cmd/versitygw@$version"
    fi
    make_server versitygw --build-context "programs=$cache/versitygw-$version"
}

all=(python kafka postgres nginx versitygw prometheus)
for name in "${@:-${all[@]}}"; do
    case $name in
    python | kafka | versitygw) "make_$name" ;;
    postgres | nginx | prometheus) make_server "$name" ;;
    *) echo "$name: there is no such stand-in; there are ${all[*]}" >&2; exit 2 ;;
    esac
done
