#!/bin/sh
# From deck to traces and a picture: builds Pogo, blocks the weld inspection in weld/, solves it, and says where the
# results are. Usage: examples/run.sh [FOLDER FOR THE RESULTS, default examples/build/weld]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
results=${1:-$root/examples/build/weld}
. "$root/examples/commands.sh"

mkdir -p "$results"
"$bin/pogo-block" "$root/examples/weld/weld.inp" --job "$root/examples/weld/weld.toml" -o "$results/weld.blk"
"$bin/pogo-info" "$results/weld.blk" --picture "$results/blocks.png"
"$bin/pogo-solve" "$results/weld.blk" --plot --report -o "$results/weld.out"

echo
echo "Results in $results:"
cd "$results"
ls blocks.png weld.out/report.html weld.out/*.csv weld.out/*.npz weld.out/*.json weld.out/*.svg weld.out/*.png weld.out/*.pvd 2>/dev/null || true

# The commands are now there; in this shell they are found with:
case ":$PATH:" in
    *":$bin:"*) ;;
    *) echo && echo "To have pogo-block, pogo-info, pogo-solve and pogo-gen in this shell: export PATH=\"$bin:\$PATH\"" ;;
esac
