#!/usr/bin/env bash
# Stops the Chandler of the demo, if it runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
file=target/demo/pid
[ -f "$file" ] || exit 0
pid=$(cat "$file")
# The number may be somebody else's by now.
if tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q 'chandler run'; then
  kill "$pid"
  [ "${1:-}" = quietly ] || echo "chandler is stopped"
fi
rm -f "$file"
