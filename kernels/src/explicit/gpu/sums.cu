// Evaluates the rows of signals of a model with fluids, as `make_signals` does for others.

#define POGO_SUMS
#include "signals.cuh"

extern "C" __global__ void __launch_bounds__(96) make_signals_and_sums(const __grid_constant__ SignalTables s, u32 by) {
    make_rows(s, by);
}
