/* What becomes of the raw scores of classifiers and regressors, for every instruction set. */
#ifndef INTERP_HOT_SCORES_H
#define INTERP_HOT_SCORES_H
#include <stddef.h>
#include "hot/isa.h"

enum Transform { TRANSFORM_NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT, TRANSFORMS };

/* What a lone score of the class that `winner` calls 1 leaves for the other class. */
enum Second { ALONE, COMPLEMENT, NEGATED };

typedef struct Verdict {
    int transform, second;
    ptrdiff_t scores;   /* raw ones of a row */
    ptrdiff_t positive; /* the score that decides between two classes; -1: the largest of all wins */
    double limit;       /* above which it decides for class 1 */
} Verdict;

/* Raw scores become those of the output, in place, with room for two: how many there are then. */
typedef ptrdiff_t (*Finished)(const Verdict *v, double *s);

/* The same, as floats, for rows of which the largest score wins, under no transform, softmax or logistic: there are `lanes`
   numbers in a row, a multiple of four, to which `shift` is added: -infinity behind the scores. The winner of each row, the
   first of equal ones, is `best`. */
typedef void (*Together)(const Verdict *v, double *s, const double *shift, ptrdiff_t rows, ptrdiff_t lanes, ptrdiff_t *best,
                         float *e);

/* The first n of the `lanes` numbers of each row. */
typedef void (*Joined)(const float *e, ptrdiff_t rows, ptrdiff_t lanes, ptrdiff_t n, float *y);

typedef struct ScoresLoops {
    Finished finished;
    Together together;
    Joined joined;
} ScoresLoops;

extern const ScoresLoops scores_baseline;
#if defined(__x86_64__)
extern const ScoresLoops scores_avx2;
#endif
#endif
