# The commands that solve a model: model.pogo-inp and model.pogo-block -> model.pogo-hist and model.pogo-field beside them.
# $precision is set by the command.
. "$(dirname "$(readlink -f "$0")")/common.sh"
arguments "$@"
for file in "$base.pogo-inp" "$base.pogo-block"; do
    [ -f "$file" ] || fail "there is no $file; pogoBlock makes a .pogo-block file of a .pogo-inp file"
done

# Results of earlier runs.
old() {
    for file in "$output".pogo-hist "$output"-[0-9]*.pogo-hist "$output".sampling*.pogo-hist "$output".pogo-field \
        "$output"-[0-9]*.pogo-field; do
        [ ! -e "$file" ] || printf '%s\n' "$file"
    done
}
if [ -z "$overwrite" ] && [ -n "$(old)" ]; then
    printf 'There are results of %s. Overwrite them (o), or stop (any other key)? ' "$output" >&2
    read -r answer || answer=''
    case $answer in
        o | O) ;;
        *) fail "results of $output are there; -o overwrites them" ;;
    esac
fi

folder=$(dirname "$output")
work=$(mktemp -d "$folder/.pogo-XXXXXX") || fail "cannot write into $folder"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# The block file of another model, such as one with other sources on the same mesh, says nothing of this one.
block=$base.pogo-block
if ! pogo pogo-info "$block" --made-from "$base.pogo-inp" --quiet 2>"$work/said"; then
    [ -n "$quiet" ] || echo "$(basename "$0"): note: $block was not made from $base.pogo-inp: blocking it again" >&2
    block=$work/model.pogo-block
    pogo pogo-block "$base.pogo-inp" -o "$block" --quiet || exit
fi

name=$(basename "$output")
set -- "$block" -o "$work/out" --precision "$precision" "--pogo-files=$name" ${quiet:+"$quiet"}
[ -n "$fields" ] || set -- "$@" --no-fields
pogo pogo-solve "$@" || exit
old | while IFS= read -r file; do rm -f "$file"; done
find "$work/out" \( -name '*.pogo-hist' -o -name '*.pogo-field' \) -exec mv -f {} "$folder/" \;
