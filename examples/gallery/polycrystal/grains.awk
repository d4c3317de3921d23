# Seeds of grains in a rectangle of `width` by `height`: lines of x y. With job=1 instead a section for each grain, with the axes of
# its crystal turned by an angle. Random numbers are those of a linear congruential generator, the same everywhere.
#
#   awk -f grains.awk -v n=250 -v width=0.02 -v height=0.01 [-v job=1]
function random() { state = (state * 16807) % 2147483647; return state / 2147483647 }
BEGIN {
    state = 20140101
    for (g = 1; g <= n; g++) {
        x = random() * width; y = random() * height; angle = random() * 90
        if (!job) printf "%.6g %.6g\n", x, y
        else printf "[[section]]\nelset = \"G%d\"\nmaterial = \"nickel\"\nangle = %.1f\n\n", g, angle
    }
}
