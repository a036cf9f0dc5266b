#!/usr/bin/env bash
# Asks a hub on loopback whatever its OpenAPI document allows, and what it forbids.
set -euo pipefail
chandler=$1 tools=$2
here=$(cd "$(dirname "$0")/.." && pwd)
if [ ! -x "$tools/bin/schemathesis" ]; then
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet "schemathesis==4.32.5"
fi
scratch=$(mktemp -d) hub=
trap '[ -z "$hub" ] || kill "$hub"; rm -rf "$scratch"' EXIT
"$chandler" hub --catalog "hub=$here/catalog" --listen 127.0.0.1:0 --cache-dir "$scratch/cache" 2> "$scratch/log" &
hub=$!
address=
for _ in $(seq 600); do
  address=$(sed -n 's/.*the hub is at \(http:\/\/[0-9.:]*\).*/\1/p' "$scratch/log")
  [ -z "$address" ] || break
  kill -0 "$hub" || { cat "$scratch/log" >&2; exit 1; }
  sleep 0.1
done
[ -n "$address" ] || { echo "error: the hub does not serve" >&2; exit 1; }
cd "$scratch"
"$tools/bin/schemathesis" --config-file "$here/tests/schemathesis.toml" run "$address/api/v1/openapi.json" --url "$address"
