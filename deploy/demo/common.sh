# What the demo's scripts share; they source it from the repository's folder.

# shellcheck disable=SC2034 # used by those who source it
local=deploy/local/cluster
# Processes that outlive a script, and what has to be known to clean up.
state=$PWD/${CARGO_TARGET_DIR:-target}/demo
fleet=fleet
gophers=gophers

if [ -t 1 ]; then bold=$'\033[1m' dim=$'\033[2m' plain=$'\033[0m'; else bold='' dim='' plain=''; fi
step() { printf '\n%s%s%s %s(%s s)%s\n' "$bold" "$*" "$plain" "$dim" "$SECONDS" "$plain"; }
say() { printf '  %s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$1" >&2
  [ -z "${2:-}" ] || printf 'hint: %s\n' "$2" >&2
  exit 3
}

# Shows a command as a person would type it, and runs it.
shows() {
  local word line=
  for word; do
    case $word in *[!a-zA-Z0-9_./:=,@-]*) line+=" '$word'" ;; *) line+=" $word" ;; esac
  done
  typed "${line# }"
  "$@"
}
typed() { printf '%s$ %s%s\n' "$dim" "$*" "$plain"; }

# Asks a condition again and again until it holds: await SECONDS WHAT COMMAND...
await() {
  local deadline=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    [ "$SECONDS" -lt "$deadline" ] || fail "$what: not within time" "look around, then \`make demo-down\`"
    sleep 0.3
  done
}

# Starts a process that outlives the script, in a group of its own: starts NAME COMMAND...
starts() {
  local name=$1
  shift
  mkdir -p "$state/pids"
  CHANDLER_DEMO=$state setsid "$@" >"$state/$name.log" 2>&1 </dev/null &
  echo $! >"$state/pids/$name"
}

# A port of this machine that nobody listens at, the wanted one if that can be.
free_port() {
  local port=$1
  while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
  echo "$port"
}
