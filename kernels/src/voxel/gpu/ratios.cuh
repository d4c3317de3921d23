// Whether the elements of a module's kernels differ in Poisson's ratio (POGO_RATIOS).

#pragma once

// An enumerator takes no memory of a module, unlike a variable.
#ifdef POGO_RATIOS
enum : bool { RATIOS = true };
#else
enum : bool { RATIOS = false };
#endif
