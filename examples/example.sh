# Read by the example scripts (`. ../example.sh`): finds or builds Pogo's commands, and goes to a folder for the results,
# examples/build/NAME. $here is the example's folder, and $out the one of the results.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/examples/commands.sh"
out=$root/examples/build/$(basename "$here")
mkdir -p "$out"
cd "$out"
