# Read by the scripts in this folder: what the commands of P. Huthwaite's Pogo have in common.

# Pogo's own commands: in the folder $POGO_BIN, or else in the PATH.
pogo() { # COMMAND ARGUMENTS...
    command=$1
    shift
    "${POGO_BIN:+$POGO_BIN/}$command" "$@"
}

fail() {
    echo "$(basename "$0"): error: $*" >&2
    exit 1
}

# Sets base (the model's name without .pogo-inp), output (the base name of results), quiet, overwrite and fields.
arguments() {
    base='' output='' quiet='' overwrite='' fields=yes
    while [ $# -gt 0 ]; do
        case $1 in
            -o) overwrite=yes ;;
            --setVerbosity)
                [ $# -gt 1 ] || fail "--setVerbosity needs a number"
                shift
                if [ "$1" = 0 ]; then quiet=--quiet; else quiet=''; fi ;;
            --setFieldSaveOff) fields='' ;;
            # Element matrices are never merged here.
            --setCompressOff) ;;
            --setOutputFile)
                [ $# -gt 1 ] || fail "--setOutputFile needs a name"
                shift
                output=$1 ;;
            --outputAllStiffToMatrix) fail "--outputAllStiffToMatrix is not done: no matrices are assembled here" ;;
            --test) try_out ;;
            -*) fail "$1 is not known; docs/pogo-files.md lists the options" ;;
            *)
                [ -z "$base" ] || fail "one model at a time, not $base and $1"
                base=${1%.pogo-inp} ;;
        esac
        shift
    done
    [ -n "$base" ] || fail "name a model: $(basename "$0") model.pogo-inp"
    [ -n "$output" ] || output=$base
}

# Runs a small model, and says whether a CUDA device can be used.
try_out() {
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    pogo pogo-gen box --elements cpe3 --nodes 100 -o "$work/box.inp" --quiet &&
        pogo pogo-block "$work/box.inp" --quiet &&
        pogo pogo-solve "$work/box.blk" --device cpu --quiet -o "$work/out" || fail "Pogo does not work"
    echo "Pogo works on the CPU."
    if said=$(pogo pogo-solve "$work/box.blk" --device cuda --quiet -o "$work/out" 2>&1); then
        echo "CUDA works."
    else
        echo "CUDA cannot be used: $said"
    fi
    exit 0
}
