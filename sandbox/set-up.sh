#!/bin/sh
# Sets up this checkout: what the machine lacks is named (and installed, where that can be done), Python packages go
# into .venv, each checked by hash. `make setup` calls it when something it depends on has changed.
set -eu
cd "$(dirname "$0")/.."

say() { printf '\033[2m·\033[0m %s\n' "$1"; }

python_of_the_machine() {
    # The system's own before what comes first in PATH: distributions build it with profile-guided optimisation, a
    # version manager's default is without, and then everything here takes 1.5 times the CPU.
    for name in ${PYTHON:-/usr/bin/python3 python3 python3.13 python3.12 python3.11}; do
        if command -v "$name" >/dev/null 2>&1 &&
            "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            command -v "$name"
            return
        fi
    done
}

java_is_new_enough() {
    java="${JAVA_HOME:+$JAVA_HOME/bin/}java"
    command -v "$java" >/dev/null 2>&1 || return 1
    major=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1)
    [ "${major:-0}" -ge 17 ]
}

missing() {
    [ -n "$(python_of_the_machine)" ] || echo "python3 python3-venv"
    java_is_new_enough || echo "openjdk-17-jre-headless"
    command -v mvn >/dev/null 2>&1 || echo "maven"
}

tell() {
    echo "This machine lacks what Mailroom needs. On Debian, as root:" >&2
    echo "    apt-get install $(echo $1)" >&2
    exit 1
}

if [ -n "${PYTHON:-}" ] && [ -z "$(python_of_the_machine)" ]; then
    echo "PYTHON=$PYTHON is no Python 3.11 or newer that can make environments (venv, ensurepip)." >&2
    exit 1
fi
lacking=$(missing)
if [ -n "$lacking" ]; then
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        tell "$lacking"
    fi
    say "installing $(echo $lacking)"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $lacking >/dev/null
    lacking=$(missing)
    [ -z "$lacking" ] || tell "$lacking"
fi

if ! .venv/bin/python -c 'import sys, pip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    python=$(python_of_the_machine)
    say "making .venv with $("$python" --version), $python (rm -rf .venv; PYTHON=... make setup takes another)"
    rm -rf .venv
    "$python" -m venv .venv
fi

say "installing uv"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.txt

# uv is told everything: an active environment of the caller's, or a setting meant for another project, must not leak
# in. Only where packages come from is the site's own: uv does not read pip's settings, so its index is passed on.
index=${UV_DEFAULT_INDEX:-${UV_INDEX_URL:-$(.venv/bin/python -m pip config get global.index-url 2>/dev/null ||
    .venv/bin/python -m pip config get :env:.index-url 2>/dev/null || true)}}
for variable in $(env | sed -n 's/^\(UV_[A-Z_]*\)=.*/\1/p'); do
    case $variable in
    UV_CACHE_DIR | UV_HTTP_TIMEOUT | UV_INDEX* | UV_FIND_LINKS | UV_NATIVE_TLS | UV_SYSTEM_CERTS | UV_OFFLINE) ;;
    *) unset "$variable" ;;
    esac
done
unset VIRTUAL_ENV CONDA_PREFIX PYTHONPATH PYTHONHOME
export UV_PYTHON_DOWNLOADS=never UV_NO_CONFIG=1
[ -z "$index" ] || export UV_DEFAULT_INDEX="$index"

say "installing packages, each checked by hash"
.venv/bin/uv pip sync --quiet --python .venv/bin/python --require-hashes requirements-dev.txt
say "installing Mailroom's own packages"
set --
for package in libs/* services/* cli sandbox; do
    set -- "$@" --editable "$package"
done
.venv/bin/uv pip install --quiet --python .venv/bin/python --no-deps --no-build-isolation "$@"
say "fetching helm and promtool, for the chart's tests"
.venv/bin/python deploy/helm/tools.py
say "fetching Kafka, and preparing its start"
.venv/bin/python -m mailroom_sandbox.site.stack.class_archive
say "set up"
