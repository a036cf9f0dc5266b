#!/usr/bin/env bash
# Brings what the tests in a browser need: Debian's Chromium, its driver, and npm for axe-core.
set -euo pipefail
missing=()
command -v chromium >/dev/null || missing+=(chromium fonts-dejavu-core)
command -v chromedriver >/dev/null || missing+=(chromium-driver)
command -v npm >/dev/null || missing+=(npm)
[ ${#missing[@]} -gt 0 ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "error: the tests in a browser need ${missing[*]}" >&2
  echo "hint: install these Debian packages, or what is like them elsewhere" >&2
  exit 1
fi
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}"
