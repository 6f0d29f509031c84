# Shared by the scripts beside it: one line per phase, and what a fresh Debian machine with a Rust toolchain lacks.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools="${HERMES_TOOLS:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/hermes-tools}"
log="$(mktemp)"
trap 'rm -f "$log"' EXIT

say() { printf '\n== %s\n' "$*"; }

# timed NAME COMMAND…: runs the command with its output kept aside, and says how long it took.
timed() {
    local name="$1" start=$SECONDS status=0
    shift
    printf '== %-28s' "$name"
    "$@" >"$log" 2>&1 || status=$?
    printf '%s after %d s' "$([ "$status" = 0 ] && echo ok || echo failed)" "$((SECONDS - start))"
    return "$status"
}

# phase NAME COMMAND…: one line when it goes well; everything it said, and the end, when it does not.
phase() {
    local status=0
    timed "$@" || status=$?
    # How many tests there were, where it was tests.
    passed="$(awk '/^test result: ok/ { passed += $4 } END { print passed + 0 }' "$log")"
    [ "$passed" = 0 ] || printf ', %d tests' "$passed"
    echo
    [ "$status" = 0 ] && return
    cat "$log"
    exit "$status"
}

# attempt NAME COMMAND…: a preparation that a machine without network may fail; the caller goes on without it.
attempt() {
    local status=0
    timed "$@" || status=$?
    echo
    [ "$status" = 0 ] || tail -n 3 "$log" | sed 's/^/   /'
    return "$status"
}

skip() { printf '== %-28sskipped: %s\n' "$1" "$2"; }

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        echo "this needs root, and there is no sudo: $*" >&2
        return 1
    fi
}

# debian COMMAND PACKAGE…: installs the packages when the command is missing.
debian() {
    local command="$1"
    shift
    command -v "$command" >/dev/null || debian_packages "$@"
}

debian_packages() {
    local quick=(-qq -o Acquire::Retries=1 -o Acquire::http::Timeout=20)
    as_root apt-get "${quick[@]}" update &&
        as_root env DEBIAN_FRONTEND=noninteractive apt-get "${quick[@]}" install -y --no-install-recommends "$@"
}

command -v cc >/dev/null || phase "installing a C compiler" debian cc build-essential
