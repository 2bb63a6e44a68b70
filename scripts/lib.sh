# Shared by the scripts in this folder; sourced, never run.
# Defines folders, functions for output, and failures that name the step and the reason.
# shellcheck shell=bash

set -Eeuo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
RUN_DIR=${SLUICE_RUN_DIR:-$ROOT/.run}
# Debian's own interpreter and not the first in PATH, because the packages python3-pytest and python3-venv belong to it.
PYTHON=/usr/bin/python3
STEP=options
# Whatever the terminal's encoding, what a program in Python prints never ends it.
export PYTHONIOENCODING=${PYTHONIOENCODING-}
PYTHONIOENCODING=${PYTHONIOENCODING%%:*}:replace

say()  { printf '%s\n' "$*"; }
step() { STEP=$*; printf '\n==> %s%s\n' "$*" "$(since_start)"; }
# How long a long run has taken so far.
since_start() { [ "$SECONDS" -lt 60 ] || printf ' (%d:%02d)' $((SECONDS / 60)) $((SECONDS % 60)); }
fail() { printf '\nsluice: step "%s" failed: %s\n' "$STEP" "$*" >&2; trap - ERR; exit 1; }

# Subshells print nothing: the shell that waits for them reports the failure once.
on_error() {
  local code=$1 line=$2
  [ "$BASH_SUBSHELL" = 0 ] || exit "$code"
  printf '\nsluice: step "%s" failed (exit %s, line %s of %s)\n' "$STEP" "$code" "$line" "$0" >&2
  exit "$code"
}
trap 'on_error $? $LINENO' ERR

# how_long PROGRAM...: says how long it takes to build and start these programs on this machine.
how_long() {
  local program cores
  for program in "$@"; do
    if [ ! -x "$program" ]; then
      # Measured: compiling takes 250 s of one core, with nothing in the compiler's cache; packages a minute or two.
      cores=$(nproc)
      say "This takes about $((2 + (5 + cores - 1) / cores)) minutes: it installs packages, and compiles on $cores cores."
      return
    fi
  done
  say "This takes less than a minute, because the programs are built already. Changed sources are compiled first."
}

# usage: prints the comment at the head of the calling script.
usage() { sed -n '2,/^[^#]/{/^#/{s/^# \{0,1\}//;p}}' "$0"; }

# unknown_option WORD: fails, and names the option of the calling script that was probably meant.
unknown_option() {
  local known nearest
  mapfile -t known < <({ echo --help; usage | grep -oE -- '--[a-z0-9-]+'; } | sort -u)
  nearest=$("$PYTHON" "$ROOT/scripts/options.py" "$1" "${known[@]}" 2>/dev/null) || nearest=   # Python may be missing yet
  fail "unknown option '$1'${nearest:+: did you mean $nearest?} (see --help)"
}

# has_value "$@": the flag $1 must be followed by a word.
has_value() { [ $# -ge 2 ] || fail "$1 needs a value (see --help)"; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else fail "installing packages needs root: run this once as root, or install sudo"
  fi
}

# wait_for SECONDS WHAT COMMAND...: polls until COMMAND succeeds; after SECONDS it fails and names WHAT.
wait_for() {
  local seconds=$1 what=$2; shift 2
  local end=$((SECONDS + seconds))
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || { say "$what did not come up within $seconds s" >&2; return 1; }
    sleep 0.05
  done
}

# running PIDFILE NAME: succeeds if the process named in the file is alive and is the program NAME. After a reboot the
# number may belong to another program, and a dead child that nobody waited for is still listed.
running() {
  local pid status
  [ -s "$1" ] && read -r pid <"$1" && status=$(cat "/proc/$pid/status" 2>/dev/null) || return 1
  [[ $status == "Name:"$'\t'"$2"$'\n'* && $status != *$'\nState:\tZ'* ]]
}

# start_detached PIDFILE LOG COMMAND...: starts COMMAND in a session of its own, so that it outlives this shell.
start_detached() {
  local pid_file=$1 log=$2 tries; shift 2
  setsid nohup "$@" </dev/null >>"$log" 2>&1 &
  printf '%s\n' "$!" >"$pid_file"
  # The process has the names setsid and nohup until they have executed COMMAND.
  for ((tries = 0; tries < 200; tries++)); do
    if running "$pid_file" "$(basename "$1")" || ! kill -0 "$!" 2>/dev/null; then return 0; fi
    sleep 0.01
  done
}

# stop_process PIDFILE NAME SECONDS [SIGNAL]: sends SIGNAL (default TERM), waits for SECONDS, then sends SIGKILL.
# Prints what happened. Returns 1 if it had to send SIGKILL.
stop_process() {
  local pid_file=$1 name=$2 seconds=$3 pid end
  if ! running "$pid_file" "$name"; then
    rm -f "$pid_file"
    say "$name was not running"
    return 0
  fi
  read -r pid <"$pid_file"
  kill -s "${4:-TERM}" "$pid"
  end=$((SECONDS + seconds))
  while running "$pid_file" "$name"; do
    if [ "$SECONDS" -ge "$end" ]; then
      kill -KILL "$pid" 2>/dev/null || :
      rm -f "$pid_file"
      say "$name (process $pid) did not end within $seconds s: killed"
      return 1
    fi
    sleep 0.05
  done
  rm -f "$pid_file"
  say "$name stopped (process $pid)"
}

# port_free PORT: succeeds if a listener can be opened on this port, on the loopback and on all addresses.
port_free() {
  "$PYTHON" - "$1" <<'PY'
import socket, sys
for host in ("127.0.0.1", "0.0.0.0"):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(sys.argv[1])))
            probe.listen(1)
        except OSError:
            sys.exit(1)
PY
}

# build PRESET [TARGET...]: configures and builds, with the progress visible.
build() {
  local preset=$1; shift
  local targets=()
  [ $# -eq 0 ] || targets=(--target "$@")
  step "configuring build/$preset"
  (cd "$ROOT" && cmake --preset "$preset" --log-level=WARNING)
  step "building build/$preset ${*:-}"
  (cd "$ROOT" && cmake --build "build/$preset" --parallel "$(nproc)" "${targets[@]}")
}
