// Names of numbers, and a check of where a field lies, for the headers that device/layout.rs writes.

#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

// The compiler of the kernels (NVRTC) has no offsetof.
#ifdef __CUDACC_RTC__
#define OFFSET_OF(TYPE, FIELD) ((unsigned long)__INTADDR__(&((TYPE *)0)->FIELD))
#else
#define OFFSET_OF(TYPE, FIELD) __builtin_offsetof(TYPE, FIELD)
#endif
#define OFFSET_IS(TYPE, FIELD, OFFSET) static_assert(OFFSET_OF(TYPE, FIELD) == OFFSET, #TYPE "::" #FIELD)

#ifndef __CUDACC__
// For compilers without CUDA's vectors, which structures only point to.
struct uint2;
struct uint4;
struct double2;
#endif
