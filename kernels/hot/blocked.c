/* Convolutions in the blocked layout. */
#include "hot/blocked.h"
#include "hot/blocked_direct.h"
#include "hot/winograd.h"
#include "hot/blocked_depthwise.h"

const BlockedLoops LOOPS(blocked) = {{
    {direct_settle, direct_place, direct_packed_size, direct_pack, direct_scratch, direct_run},
    {winograd_settle, winograd_place, winograd_packed_size, winograd_pack, winograd_scratch, winograd_run},
    {depthwise_settle, depthwise_place, depthwise_packed_size, depthwise_pack, depthwise_scratch, depthwise_run},
}};
