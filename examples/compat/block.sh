# The commands that make a block file: model.pogo-inp -> model.pogo-block.
. "$(dirname "$(readlink -f "$0")")/common.sh"
arguments "$@"
pogo pogo-block "$base.pogo-inp" -o "$base.pogo-block" ${quiet:+"$quiet"}
