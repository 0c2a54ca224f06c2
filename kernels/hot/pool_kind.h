/* All that pools do with one kind of number: REAL, as element type OWN. Included once for each. */
#define FN(name) JOINED(name, REAL)
#define vec FN(lanes)
#define bits FN(bits)
#define LANES FN(LANES)

#include "hot/pool_fold.h"
#include "hot/pool_slide.h"
#include "hot/pool_whole.h"
#include "hot/pool_indices.h"

#undef FN
#undef vec
#undef bits
#undef LANES
#undef REAL
#undef OWN
#undef REAL_IS_FLOATING
