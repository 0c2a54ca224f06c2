/* Convolutions in the blocked layout. */
#include "hot/blocked.h"
#include "hot/blocked_direct.h"

const BlockedLoops LOOPS(blocked) = {
    {{direct_packed_size, direct_pack, direct_scratch, direct_cut, direct_task}},
    direct_settle, direct_place,
};
