# A plate of 30 mm x 12 mm in cells of 0.1 mm, as a deck, and the grain of each element, in grains.csv. Grains are the Voronoi
# cells of one random point in each square of 1 mm: 360 grains.
BEGIN {
    srand(7); nx = 300; ny = 120; h = 1e-4; gx = 30; gy = 12; g = 1e-3
    for (j = 0; j < gy; j++) for (i = 0; i < gx; i++) { px[i, j] = (i + rand()) * g; py[i, j] = (j + rand()) * g }
    print "*Heading\nA polycrystal\n*Node"
    for (j = 0; j <= ny; j++) for (i = 0; i <= nx; i++) printf "%d, %.6g, %.6g\n", 1 + i + (nx + 1) * j, i * h, j * h
    print "*Element, type=CPE4, elset=ALL"
    print "element,grain" > "grains.csv"
    for (j = 0; j < ny; j++) for (i = 0; i < nx; i++) {
        a = 1 + i + (nx + 1) * j; e++
        printf "%d, %d, %d, %d, %d\n", e, a, a + 1, a + nx + 2, a + nx + 1
        x = (i + 0.5) * h; y = (j + 0.5) * h; best = 1
        bi = int(x / g); bj = int(y / g)
        for (l = bj - 2; l <= bj + 2; l++) for (k = bi - 2; k <= bi + 2; k++) if ((k, l) in px) {
            d = (x - px[k, l]) ^ 2 + (y - py[k, l]) ^ 2
            if (d < best) { best = d; grain = 1 + k + gx * l }
        }
        printf "%d,%d\n", e, grain > "grains.csv"
    }
}
