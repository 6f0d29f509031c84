# Shared by the scripts beside it: installs what a fresh Debian machine with a Rust toolchain lacks.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
tools="${HERMES_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/hermes-tools}"

say() { printf '\n== %s\n' "$*"; }

# debian COMMAND PACKAGE…: installs the packages when the command is missing.
debian() {
    local command="$1"
    shift
    command -v "$command" >/dev/null && return
    say "installing $* (for $command)"
    local root=()
    [ "$(id -u)" = 0 ] || root=(sudo)
    "${root[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${root[@]}" apt-get install -y -qq --no-install-recommends "$@"
}

debian cc build-essential
