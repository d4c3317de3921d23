// The precision of a file that is compiled once for each, with POGO_F64 for double precision, and its name.

#pragma once

#ifdef POGO_F64
typedef double Real;
#define PRECISION f64
#else
typedef float Real;
#define PRECISION f32
#endif
