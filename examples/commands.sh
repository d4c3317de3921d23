# Read by the example scripts (`. commands.sh`) with $root set to the project's folder: builds Pogo's commands and sets $bin
# to the folder that they lie in. CARGO_TARGET_DIR is respected, also a relative one. POGO_PROFILE names a profile of Cargo
# other than release. POGO_BIN names a folder with the commands as they are, and nothing is built.
if [ -n "${POGO_BIN:-}" ]; then
    bin=$POGO_BIN
else
    target=${CARGO_TARGET_DIR:-$root/target}
    case $target in
        /*) ;;
        *) target=$PWD/$target ;;
    esac
    export CARGO_TARGET_DIR="$target"
    profile=${POGO_PROFILE:-release}
    # Cargo's folder of the profile dev.
    folder=$profile
    [ "$profile" != dev ] || folder=debug
    bin=$target/$folder
    cargo build --profile "$profile" --bins --manifest-path "$root/Cargo.toml"
fi
