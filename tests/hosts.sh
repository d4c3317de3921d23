#!/usr/bin/env bash
# Runs tests/mpi.sh on several hosts: network namespaces of this machine, each with an address, a name and an identity of its
# own, so that every message between them goes through TCP.
#
#   tests/hosts.sh [NUMBER OF HOSTS]     as root, needs iproute2, util-linux and what tests/mpi.sh needs
set -euo pipefail
cd "$(dirname "$0")/.."
n=${1:-2}
prefix=pogo$$
work=$(mktemp -d)
remove() {
    local host
    for host in $(seq "$n"); do ip netns del "$prefix-$host" 2> /dev/null || true; done
    ip link del "$prefix" 2> /dev/null || true
    rm -rf "$work"
}
trap remove EXIT

# One bridge, to which this machine and each host have a link.
ip link add "$prefix" type bridge
ip addr add 10.77.0.254/24 dev "$prefix"
ip link set "$prefix" up
for host in $(seq "$n"); do
    ip netns add "$prefix-$host"
    ip link add "$prefix.$host" type veth peer name eth0 netns "$prefix-$host"
    ip link set "$prefix.$host" master "$prefix" up
    ip -n "$prefix-$host" link set lo up
    ip -n "$prefix-$host" addr add "10.77.0.$host/24" dev eth0
    ip -n "$prefix-$host" link set eth0 up
    echo "host-$host slots=8" >> "$work/hosts"
    # What pogo-solve tells machines apart by.
    printf '%08d-0000-4000-8000-%012d\n' "$host" $$ > "$work/boot_id.$host"
done

# In the place of ssh: starts a command on a host. What lies in `disk` the first host has alone.
mkdir "$work/disk"
cat > "$work/on" << END
#!/usr/bin/env bash
number=\${1#host-}
exec nsenter --net=/run/netns/$prefix-\$number unshare --mount --uts bash -c "
    hostname \$1
    mount --bind $work/boot_id.\$number /proc/sys/kernel/random/boot_id
    [ \$number = 1 ] || mount -t tmpfs none $work/disk
    \${*:2}"
END
chmod +x "$work/on"

export OMPI_MCA_plm_rsh_agent=$work/on OMPI_MCA_btl=tcp,self OMPI_MCA_pml=ob1
export OMPI_MCA_oob_tcp_if_include=10.77.0.0/24 OMPI_MCA_btl_tcp_if_include=10.77.0.0/24
options=(--hostfile "$work/hosts" --map-by node)
tests/mpi.sh "${options[@]}"

# The host of rank 0 alone writes results. Each host reads the block file.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
bin=${CARGO_TARGET_DIR:-$PWD/target}/debug
"$bin/pogo-gen" box --elements cpe3 --nodes 4000 -o "$work/box.inp" --quiet
"$bin/pogo-block" "$work/box.inp" --block-nodes 128 -o "$work/box.blk" --quiet
cp "$work/box.blk" "$work/disk"
[ "$(timeout 60 mpirun "${options[@]}" -np "$n" hostname | sort -u | wc -l)" = "$n" ]
timeout 60 mpirun "${options[@]}" -np "$n" "$bin/pogo-solve" "$work/box.blk" -o "$work/disk/results" --device cpu --quiet
"$bin/pogo-solve" "$work/box.blk" -o "$work/one" --device cpu --quiet
cmp "$work/one/traces.csv" "$work/disk/results/traces.csv"
if said=$(timeout 60 mpirun "${options[@]}" -np "$n" "$bin/pogo-solve" "$work/disk/box.blk" -o "$work/none" --device cpu --quiet 2>&1); then
    echo "error: a block file that one host has was not refused" >&2
    exit 1
fi
grep "rank 1: .*box.blk" <<< "$said"
echo "hosts: results are those of one process on $n hosts"
