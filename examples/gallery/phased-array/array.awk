# The job of an array of n elements on the top of a block: each a force on a line, delayed so that all arrive at the focus at once.
#
#   awk -f array.awk -v n=16 -v pitch=1e-3 -v width=0.8e-3 -v left=12e-3 -v top=40e-3 -v fx=32e-3 -v fy=15e-3 -v speed=5900
function way(e,   x) { x = left + (e + 0.4) * pitch; return sqrt((x - fx) ^ 2 + (top - fy) ^ 2) }
BEGIN {
    for (e = 0; e < n; e++) if (way(e) > longest) longest = way(e)
    for (e = 0; e < n; e++) {
        x = left + e * pitch
        printf "[[source]]\nname = \"element %d\"\nline = [[%.6g, %.6g], [%.6g, %.6g]]\ncomponent = \"y\"\nforce = -10.0\n", e + 1, x, top, x + width, top
        printf "amplitude = { kind = \"hann\", frequency = 2e6, cycles = 3, delay = %.6g }\n\n", (longest - way(e)) / speed
    }
}
