#!/usr/bin/env bash
# Checks that all ways of building compile a dependency with the same features, which means once: the workspace with its
# tests, the workspace's commands, and each package alone. Without that, tests would compile the solver twice.
set -euo pipefail
cd "$(dirname "$0")/.."

# A line a package: its name and version, then its features.
packages() {
    cargo tree --quiet --locked --prefix none --no-dedupe --format '{p} | {f}' "$@" | grep -E '^[^ ]+ v[0-9]' | sort -u
}

everything=$(packages --workspace --edges normal,build,dev)
differing=0
for way in "--workspace" "-p pogo-tools" "-p pogo-solver" "-p pogo-python"; do
    # shellcheck disable=SC2086 # the words of a way are arguments
    if more=$(comm -13 <(echo "$everything") <(packages $way --edges normal,build)) && [ -n "$more" ]; then
        printf 'error: cargo build %s has other features than cargo test --workspace:\n%s\n' "$way" "$more" >&2
        differing=1
    fi
done
[ $differing -eq 0 ] || { echo "State the features that differ in [workspace.dependencies] of Cargo.toml." >&2; exit 1; }
