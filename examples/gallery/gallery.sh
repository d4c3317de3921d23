# Read by the scripts of the gallery (`. ../gallery.sh`): finds or builds Pogo's commands, and goes to an empty folder for the
# results, examples/build/gallery/NAME. `picture FILE` says which picture to look at; it becomes NAME.png there.
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
. "$root/examples/commands.sh"
name=$(basename "$here")
out=${POGO_GALLERY:-$root/examples/build/gallery}/$name
rm -rf "$out"
mkdir -p "$out"
cd "$out"
picture() {
    cp "$1" "$name.png"
    echo "$out/$name.png"
}
