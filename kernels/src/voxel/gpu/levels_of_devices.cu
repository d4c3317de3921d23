// The kernels of the coarse levels for several devices that compute one model. They are modules of their own, so that the
// kernels for one device do without what they add.

#define POGO_DEVICES
#include "coarse.cuh"
