# A cube of n³ voxels as bytes without header: 2 inside of beads that do not overlap, 1 between them. mawk and gawk -b write bytes.
#
#   awk -f beads.awk -v n=48 -v beads=24 -v radius=8 | tr '12' '\001\002' > beads.raw
function random() { state = (state * 16807) % 2147483647; return state / 2147483647 }
BEGIN {
    state = 20130101
    for (tries = 0; m < beads && tries < 100000; tries++) {
        x = random() * n; y = random() * n; z = random() * n; free = 1
        for (b = 1; b <= m && free; b++) free = (x - bx[b]) ^ 2 + (y - by[b]) ^ 2 + (z - bz[b]) ^ 2 > 4 * radius ^ 2
        if (free) { m++; bx[m] = x; by[m] = y; bz[m] = z }
    }
    for (k = 0; k < n; k++) for (j = 0; j < n; j++) for (i = 0; i < n; i++) {
        value = 1
        for (b = 1; b <= m && value == 1; b++)
            if ((i + 0.5 - bx[b]) ^ 2 + (j + 0.5 - by[b]) ^ 2 + (k + 0.5 - bz[b]) ^ 2 < radius ^ 2) value = 2
        printf "%d", value
    }
}
