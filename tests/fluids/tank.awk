# A box of cells of 1 mm as a deck: a fluid (water) up to n_fluid cells along x, and steel beyond.
#
#   awk -f tank.awk -v kind=AC3D8 -v nx=24 -v ny=12 -v nz=10 -v n_fluid=14 > tank.inp
#
# A flow and a prescribed pressure act on the fluid, a force and a support that moves on the solid. All is damped a little.
BEGIN {
    plane = kind ~ /2D/; if (plane) nz = 0
    print "*HEADING\n*NODE"
    for (k = 0; k <= nz; k++) for (j = 0; j <= ny; j++) for (i = 0; i <= nx; i++) {
        # Inner nodes are moved, so that no element is a box.
        m = (i > 0 && i < nx && j > 0 && j < ny && (plane || k > 0 && k < nz)) ? distort : 0
        x = i + m * sin(7 * i + 3 * j + k); y = j + m * sin(2 * i + 5 * j + 9 * k); z = k + m * sin(i + 8 * j + 4 * k)
        if (plane) printf "%d, %.9g, %.9g\n", node(i, j, k), x * 1e-3, y * 1e-3
        else printf "%d, %.9g, %.9g, %.9g\n", node(i, j, k), x * 1e-3, y * 1e-3, z * 1e-3
    }
    solid = kind; sub(/AC2D/, "CPE", solid); sub(/AC3D/, "C3D", solid)
    if (n_fluid > 0) elements(kind, "FLUID", 0, n_fluid)
    if (n_fluid < nx) elements(solid, "SOLID", n_fluid, nx)
    if (n_fluid > 0) print "*SOLID SECTION, ELSET=FLUID, MATERIAL=WATER\n,\n*MATERIAL, NAME=WATER\n*DENSITY\n1000.,\n*DAMPING, ALPHA=1e4\n*ACOUSTIC MEDIUM, BULK MODULUS\n2.2e9,"
    if (n_fluid < nx) print "*SOLID SECTION, ELSET=SOLID, MATERIAL=STEEL\n,\n*MATERIAL, NAME=STEEL\n*DENSITY\n7800.,\n*DAMPING, ALPHA=2e4\n*ELASTIC\n210e9, 0.3"
    h = int(ny / 2); d = int(nz / 2)
    wet = node(4, h, d); joint = node(n_fluid, h, d); wall = node(int(n_fluid / 2), 0, 0)
    print "*NSET, NSET=FLUIDS\n" wet ",\n" wall ",\n" joint ",\n*AMPLITUDE, NAME=P"
    for (t = 0; t <= 80; t++) printf "%.9g, %.9g\n", t * 1e-7, sin(3.14159265358979 * t / 80) ^ 4
    if (n_fluid < nx) print "*NSET, NSET=SOLIDS\n" joint ",\n" node(nx - 3, h, d) ",\n" node(nx, 0, 0) ","
    printf "*STEP\n*DYNAMIC, EXPLICIT, DIRECT USER CONTROL\n4e-8, 2.4e-5\n"
    print "*CLOAD, AMPLITUDE=P\n" wet ", 8, 1e-3"
    if (n_fluid < nx) print node(nx - 3, h, d) ", 1, 5."
    print "*BOUNDARY, AMPLITUDE=P\n" wall ", 8, 8, 1e3"
    if (n_fluid < nx) print joint ", 1, 1, 1e-9\n*BOUNDARY\n" node(nx, 0, 0) ", 1, 3"
    print "*OUTPUT, HISTORY, FREQUENCY=1\n*NODE OUTPUT, NSET=FLUIDS\nPOR,"
    if (n_fluid < nx) print "*NODE OUTPUT, NSET=SOLIDS\nU, V, RF"
    print "*OUTPUT, FIELD, NUMBER INTERVAL=2\n*NODE OUTPUT\nPOR,"
    print "*END STEP"
}
function node(i, j, k) { return 1 + i + (nx + 1) * (j + (ny + 1) * k) }
function corner(c, i, j, k) { return node(i + (c % 4 == 1 || c % 4 == 2), j + (c % 4 > 1), k + (c > 3)) }
function element(corners, i, j, k,   n, all, c, line) {
    n = split(corners, all, " "); line = ++number
    for (c = 1; c <= n; c++) line = line ", " corner(all[c], i, j, k)
    print line
}
function elements(type, set, first, last,   i, j, k, n, cells, c) {
    print "*ELEMENT, TYPE=" type ", ELSET=" set
    if (kind ~ /2D3/) n = split("0 1 2;0 2 3", cells, ";")
    else if (kind ~ /2D4/) n = split("0 1 2 3", cells, ";")
    else if (kind ~ /3D4/) n = split("0 1 2 6;0 2 3 6;0 3 7 6;0 7 4 6;0 4 5 6;0 5 1 6", cells, ";")
    else if (kind ~ /3D6/) n = split("0 1 2 4 5 6;0 2 3 4 6 7", cells, ";")
    else n = split("0 1 2 3 4 5 6 7", cells, ";")
    for (k = 0; k < (plane ? 1 : nz); k++) for (j = 0; j < ny; j++) for (i = first; i < last; i++)
        for (c = 1; c <= n; c++) element(cells[c], i, j, k)
}
