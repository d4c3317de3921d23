// Integer types, and a check of field offsets, for the headers that device/layout.rs generates.

#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

// NVRTC, the compiler of the kernels, has no offsetof.
#ifdef __CUDACC_RTC__
#define OFFSET_OF(TYPE, FIELD) ((unsigned long)__INTADDR__(&((TYPE *)0)->FIELD))
#else
#define OFFSET_OF(TYPE, FIELD) __builtin_offsetof(TYPE, FIELD)
#endif
#define OFFSET_IS(TYPE, FIELD, OFFSET) static_assert(OFFSET_OF(TYPE, FIELD) == OFFSET, #TYPE "::" #FIELD)

#ifndef __CUDACC__
// Declarations for compilers without the CUDA vector types. The structures contain only pointers to them.
struct uint2;
struct uint4;
struct double2;
#endif
