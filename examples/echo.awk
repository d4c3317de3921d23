# Largest difference at MONITOR-A between two traces.csv, without and with the crack, and when it comes.
BEGIN { FS = "," }
/^#/ { next }
$1 == "time" {
    for (i = 2; i <= NF; i++) if ($i ~ /^MONITOR-A\..*\.U2$/) column = i
    next
}
FNR == NR { sound[$1] = $column; next }
{
    echo = $column - sound[$1]
    if (echo < 0) echo = -echo
    if (echo > largest) { largest = echo; time = $1 }
}
END { printf "%s Hz: the crack changes U2 at MONITOR-A by up to %.3e m (at %.2f us)\n", frequency, largest, 1e6 * time }
