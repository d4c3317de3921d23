# Read by the example scripts (`. commands.sh`) with $root set to the project's folder: builds Pogo's commands in release
# mode and sets $bin to the folder that they lie in. CARGO_TARGET_DIR is respected, also a relative one.
target=${CARGO_TARGET_DIR:-$root/target}
case $target in
    /*) ;;
    *) target=$PWD/$target ;;
esac
export CARGO_TARGET_DIR="$target"
bin=$target/release
cargo build --release --bins --manifest-path "$root/Cargo.toml"
