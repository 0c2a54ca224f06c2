/* Convolutions of float and of double. */
#include "hot/conv.h"

#define REAL float
#include "hot/patches.h"
#include "hot/depthwise.h"
#undef REAL
#define REAL double
#include "hot/patches.h"
#include "hot/depthwise.h"
#undef REAL

static ptrdiff_t packed_size(ptrdiff_t groups, ptrdiff_t out_channels, ptrdiff_t depth) {
    return groups * pieces(out_channels, ROWS) * ROWS * depth;
}

static void cut(ConvolutionCall *call, size_t size, int threads) {
    const Convolution *how = call->how;
    ptrdiff_t pixels = volume(how->out), planes = how->batch * how->groups, columns = PANEL_BYTES / (ptrdiff_t)size;
    call->pixels = columns * even_piece(pieces(pixels, columns), PANEL_BLOCK);
    call->pixel_blocks = pieces(pixels, call->pixels);
    call->rows = row_share(how->out_channels, planes * call->pixel_blocks, threads);
    call->row_blocks = pieces(how->out_channels, call->rows);
    call->count = planes * call->pixel_blocks * call->row_blocks;
    call->cost = nanoseconds(call->rows * lesser(call->pixels, pixels), how->in_channels * volume(how->kernel), size);
}

static void cut_planes(ConvolutionCall *call, size_t size, int threads) {
    const Convolution *how = call->how;
    call->count = volume(how->out) ? how->batch * how->groups * how->out_channels : 0;
    call->cost = 4 * nanoseconds(volume(how->out), volume(how->kernel), size);
    (void)threads;
}

const ConvLoops LOOPS(conv) = {
    packed_size, float_pack, double_pack, depthwise_scratch,
    PANEL_BLOCK * DEPTH * PANEL_BYTES + ROW_BLOCK * DEPTH * sizeof(double),
    {cut, float_pieces, double_pieces}, {cut_planes, float_depthwise, double_depthwise},
};
