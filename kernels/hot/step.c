/* Rows of 16-bit elements to float and back. */
#include "hot/step.h"
#include "half.h"

#define TEXT_(x) #x
#define TEXT(x) TEXT_(x)

const StepLoops LOOPS(step) = {TEXT(ISA), half_row_to_float, float_row_to_half, brain_row_to_float, float_row_to_brain};
