#!/bin/sh
# Installs this clone and what runs studies, from the lock, into `venv` beside the clone; as root, on Debian 12.
set -eu
clone=$(cd "$(dirname "$0")/.." && pwd)
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -qq -y --no-install-recommends ca-certificates python3 python3-venv >/dev/null
python3 -m venv "$clone/../venv"
pip="$clone/../venv/bin/python -m pip --quiet --disable-pip-version-check --no-cache-dir"
$pip install --require-hashes -r "$clone/requirements.lock"
$pip install --no-deps --no-build-isolation "$clone" "$clone/workflow"
rm -rf /var/lib/apt/lists/*
