/* Lanes of two vectors, picked by constant numbers: SHUFFLE(mask, a, b, …), where `mask` is a vector of integers as wide. */
#ifndef INTERP_HOT_SHUFFLE_H
#define INTERP_HOT_SHUFFLE_H
#if defined(__clang__)
#define SHUFFLE(mask, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(mask, a, b, ...) __builtin_shuffle(a, b, (mask){__VA_ARGS__})
#endif
#endif
