# The job of an array of n elements on the top of a tank: each lets volume flow into the water, delayed so that together they send a
# plane wave at an angle from the vertical, degrees.
#
#   awk -f array.awk -v n=24 -v pitch=0.5e-3 -v left=4e-3 -v top=30e-3 -v angle=17 -v speed=1480
BEGIN {
    slowness = sin(angle * atan2(0, -1) / 180) / speed
    for (e = 0; e < n; e++) {
        x = left + e * pitch
        printf "[[source]]\nname = \"element %d\"\nline = [[%.6g, %.6g], [%.6g, %.6g]]\nvolume_acceleration = 1.0\n", e + 1, x, top, x + 0.9 * pitch, top
        printf "amplitude = { kind = \"hann\", frequency = 1.5e6, cycles = 3, delay = %.6g }\n\n", e * pitch * slowness
    }
}
