// The kernel in fans_of_shots.cuh. The file is compiled once for each precision and `Law`.

#include "fans_of_shots.cuh"
#include "precision.cuh"

#define NAME_(LAW, PRECISION) fans_of_shots_##LAW##_##PRECISION
#define NAME(LAW, PRECISION) NAME_(LAW, PRECISION)

extern "C" __global__ void __launch_bounds__(FansOfShots<Real>::THREADS, FansOfShots<Real>::RESIDENT)
    NAME(POGO_LAW, PRECISION)(const __grid_constant__ Params<Real> p, const __grid_constant__ Shots<Real> shots) {
    step_fans_of_shots<Real, Law::POGO_LAW>(p, shots);
}
