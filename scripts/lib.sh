# Shared by the scripts in this folder; sourced, never run.
# Gives: where things are, one way to speak, and failures that say which step and why.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
RUN_DIR=${SLUICE_RUN_DIR:-$ROOT/.run}
STEP=start

say()  { printf '%s\n' "$*"; }
step() { STEP=$*; printf '\n==> %s\n' "$*"; }
fail() { printf '\nsluice: %s failed: %s\n' "$STEP" "$*" >&2; exit 1; }
trap 'code=$?; printf "\nsluice: step \"%s\" failed (exit %s, line %s of %s)\n" "$STEP" "$code" "$LINENO" "$0" >&2; exit "$code"' ERR

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else fail "installing packages needs root: run this once as root, or install sudo"
  fi
}

# wait_for SECONDS WHAT COMMAND...: polls until COMMAND succeeds; says what did not come.
wait_for() {
  local seconds=$1 what=$2; shift 2
  local end=$((SECONDS + seconds))
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || { say "$what did not come up within $seconds s" >&2; return 1; }
    sleep 0.05
  done
}

# running PIDFILE: is the process named in this file alive?
running() { [ -s "$1" ] && kill -0 "$(cat "$1")" 2>/dev/null; }
