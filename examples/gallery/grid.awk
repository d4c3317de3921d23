# A rectangle of square elements (CPE4R) as a bare deck: nodes, elements, and the element set PLATE.
#
#   awk -f grid.awk -v nx=360 -v ny=24 -v h=0.25e-3 > plate.inp
#
# notch="x0 y0 x1 y1" leaves out the elements whose middle lies in that box, m. seeds=FILE (lines of x y) makes each element a
# member of the set G1, G2, … of the seed that is nearest to it.
BEGIN {
    split(notch, box, " ")
    for (n = 0; seeds != "" && (getline line < seeds) > 0; n++) { split(line, at, " "); sx[n + 1] = at[1]; sy[n + 1] = at[2] }
    print "*NODE"
    for (j = 0; j <= ny; j++) for (i = 0; i <= nx; i++)
        if (solid(i - 1, j - 1) || solid(i, j - 1) || solid(i - 1, j) || solid(i, j)) printf "%d, %.9g, %.9g\n", node(i, j), i * h, j * h
    print "*ELEMENT, TYPE=CPE4R, ELSET=PLATE"
    for (j = 0; j < ny; j++) for (i = 0; i < nx; i++) if (solid(i, j)) {
        e = 1 + i + nx * j
        printf "%d, %d, %d, %d, %d\n", e, node(i, j), node(i + 1, j), node(i + 1, j + 1), node(i, j + 1)
        if (n > 0) { g = nearest((i + 0.5) * h, (j + 0.5) * h); set[g] = set[g] e "\n" }
    }
    for (g = 1; g <= n; g++) if (g in set) printf "*ELSET, ELSET=G%d\n%s", g, set[g]
}
function node(i, j) { return 1 + i + (nx + 1) * j }
function solid(i, j,   x, y) {
    if (i < 0 || j < 0 || i >= nx || j >= ny) return 0
    x = (i + 0.5) * h; y = (j + 0.5) * h
    return notch == "" || x < box[1] || x > box[3] || y < box[2] || y > box[4]
}
function nearest(x, y,   g, best, d, least) {
    least = 1e300
    for (g = 1; g <= n; g++) { d = (x - sx[g]) ^ 2 + (y - sy[g]) ^ 2; if (d < least) { least = d; best = g } }
    return best
}
