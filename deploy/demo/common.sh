# What the demo's scripts share; they source it from the repository's folder.
# shellcheck disable=SC2034 # much of it is used by those who source it

# A function that stops half-way in `$(...)` must not look like an answer.
shopt -s inherit_errexit

local=deploy/local/cluster
fleet=fleet
gophers=gophers
# Where it says which cluster of yours it is in, and logs are: beside the local clusters, because two checkouts share
# those too, and `cargo clean` must not make it forget.
state=${CHANDLER_STATE:-${XDG_STATE_HOME:-${HOME:-}/.local/state}/chandler}/demo
# How a cluster of yours is reached in which a demo is.
record=$state/own

if [ -t 1 ]; then bold=$'\033[1m' dim=$'\033[2m' plain=$'\033[0m'; else bold='' dim='' plain=''; fi
step() { printf '\n%s%s%s %s(%s s)%s\n' "$bold" "$*" "$plain" "$dim" "$SECONDS" "$plain"; }
say() { printf '  %s\n' "$*"; }
fail() {
  printf 'error: %s\n' "$1" >&2
  [ -z "${2:-}" ] || printf 'hint: %s\n' "$2" >&2
  exit 3
}
kubectl() { command "$CHANDLER_KUBECTL" "$@"; }

# Binaries in an image are static, and it is the Makefile that says how these are built.
[ -n "${CARGO_BUILD_TARGET:-}" ] || fail "this is a part of \`make demo\`" "run \`make demo\` or \`make demo-down\`"

# The demo says how to look around in its own cluster; a shell that does is no reason to take it for one of yours.
# shellcheck disable=SC2031 # nothing was changed in a subshell
if [ -n "${KUBECONFIG:-}" ] && [ "$KUBECONFIG" = "$(env -u KUBECONFIG "$local" kubeconfig --name demo)" ]; then
  unset KUBECONFIG
fi

# Where cargo puts programs.
profile=${PROFILE:-dev}
target=${CARGO_TARGET_DIR:-target}
case $target in /*) ;; *) target=$PWD/$target ;; esac
built=$target/$CARGO_BUILD_TARGET/${profile/#dev/debug}
PATH=$built:$PATH
# Builds them. Always all: with other features a library would be compiled anew.
builds() {
  local flags=()
  [ "$profile" = dev ] || flags=(--profile "$profile")
  [ -t 2 ] || flags+=(--quiet)
  cargo build "${flags[@]}" --bin chandler --example fleet --example pack-image
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

# How many seconds anything may take: machines are slow, or busy with something else, and who waits has Ctrl-C.
patience=900

# Asks a condition again and again until it holds, and says so now and then: await WHAT COMMAND...
await() {
  local since=$SECONDS told=$SECONDS what=$1
  shift
  until "$@"; do
    [ $((SECONDS - since)) -lt "$patience" ] ||
      fail "$what: not within $patience s" "look around, then \`make demo-down\`"
    if [ $((SECONDS - told)) -ge 30 ]; then
      told=$SECONDS
      say "not yet, after $((SECONDS - since)) s: $what"
    fi
    sleep 0.3
  done
}

# Starts a process that outlives the script, known by a variable: starts NAME COMMAND...
starts() {
  local name=$1
  shift
  mkdir -p "$state"
  CHANDLER_DEMO=$state setsid "$@" >"$state/$name.log" 2>&1 </dev/null &
}
# The processes that were started, by whichever demo.
started() {
  # Some processes end while they are looked at.
  { grep -lsxz "CHANDLER_DEMO=$state" /proc/[0-9]*/environ || true; } | tr -dc '0-9\n'
}

# A port of this machine that nobody listens at, the wanted one if that can be.
free_port() {
  local port=$1
  while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$((port + 1)); done
  echo "$port"
}

# Whether a page is served at a port of this machine.
answers() {
  local status=
  { exec 3<>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null || return 1
  printf 'GET / HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n' >&3
  read -r -t 5 status <&3 || true
  exec 3>&-
  case $status in *' 200 '*) ;; *) return 1 ;; esac
}
