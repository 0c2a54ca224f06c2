/* Convolution as a product, for one element type, REAL: weights by patches of the input, which are packed into panels of
   pixels a block at a time. A sum runs over chunks of channels, in each over taps, in each over the chunk's channels.
   Included once for each type. */
#include "hot/tile.h"
#include "hot/activate_rows.h"
#include "hot/pixels.h"

#ifndef INTERP_HOT_PATCHES_H
#define INTERP_HOT_PATCHES_H
#if defined(__AVX2__)
#include <immintrin.h>
#endif

enum {
    MOST_RUNS = PANEL_BYTES / sizeof(float),
    IN_PLACE = 72, /* channels of a group, on both sides */
};

/* Some of the products of a sum: channels from c, taps from t. */
typedef struct {
    ptrdiff_t c, channels, t, taps;
} Chunk;

static Chunk first_chunk(ptrdiff_t channels, ptrdiff_t taps) {
    ptrdiff_t most = taps && taps < DEPTH ? DEPTH / taps : 1;
    return (Chunk){0, even_piece(channels, most), 0, even_piece(taps, DEPTH)};
}

/* Chunks cover all taps of their channels, or all of it for one channel where taps alone are a chunk's worth. */
static bool next_chunk(Chunk *chunk, ptrdiff_t channels, ptrdiff_t taps) {
    chunk->t += chunk->taps;
    chunk->taps = lesser(chunk->taps, taps - chunk->t);
    if (chunk->taps > 0)
        return true;
    chunk->c += chunk->channels;
    chunk->channels = lesser(chunk->channels, channels - chunk->c);
    chunk->t = 0;
    chunk->taps = even_piece(taps, DEPTH);
    return chunk->channels > 0;
}

/* A vector of elements from every second place. The compiler would fetch them one by one. */
static inline void float_every_second(const float *x, float *y) {
#if defined(__AVX2__)
    __m256 low = _mm256_loadu_ps(x), high = _mm256_loadu_ps(x + 7); /* not 8: that would read beyond the last */
    __m256d pairs = _mm256_castps_pd(_mm256_shuffle_ps(low, high, 0xd8));
    _mm256_storeu_ps(y, _mm256_castpd_ps(_mm256_permute4x64_pd(pairs, 0xd8)));
#else
    for (int i = 0; i < (int)(VECTOR / sizeof(float)); i++)
        y[i] = x[2 * i];
#endif
}

static inline void double_every_second(const double *x, double *y) {
    for (int i = 0; i < (int)(VECTOR / sizeof(double)); i++)
        y[i] = x[2 * i];
}
#endif

/* The weights of a chunk for some rows, in groups of ROWS: zeros stand in for rows that are not there. */
static void OF(pack_chunk)(const REAL *w, ptrdiff_t rows, ptrdiff_t channels, ptrdiff_t taps, const Chunk *chunk, REAL *out) {
    for (ptrdiff_t i = 0; i < rows; i += ROWS)
        for (ptrdiff_t t = chunk->t; t < chunk->t + chunk->taps; t++)
            for (ptrdiff_t c = chunk->c; c < chunk->c + chunk->channels; c++)
                for (ptrdiff_t r = i; r < i + ROWS; r++)
                    *out++ = r < rows ? w[(r * channels + c) * taps + t] : 0;
}

/* Chunk after chunk, so that a block of rows is read from end to end. */
static void OF(pack)(const REAL *w, ptrdiff_t groups, ptrdiff_t rows, ptrdiff_t channels, ptrdiff_t taps, REAL *out) {
    for (ptrdiff_t g = 0; g < groups; g++, w += rows * channels * taps) {
        Chunk chunk = first_chunk(channels, taps);
        do {
            OF(pack_chunk)(w, rows, channels, taps, &chunk, out);
            out += pieces(rows, ROWS) * ROWS * chunk.channels * chunk.taps;
        } while (next_chunk(&chunk, channels, taps));
    }
}

/* One run of every channel of a chunk; the shape of the copy is settled outside of the loop. */
static void OF(copy)(const REAL *x, ptrdiff_t plane, REAL *y, ptrdiff_t n, ptrdiff_t stride, ptrdiff_t channels) {
#define CHANNELS for (ptrdiff_t c = 0; c < channels; c++, x += plane, y += COLUMNS)
    if (stride == 1 && n == COLUMNS) {
        CHANNELS {
            OF(vector) low = OF(load)(x), high = OF(load)(x + LANES);
            OF(store)(y, low);
            OF(store)(y + LANES, high);
        }
    } else if (stride == 1 && n >= LANES) {
        CHANNELS { /* two vectors that overlap */
            OF(vector) low = OF(load)(x), high = OF(load)(x + n - LANES);
            OF(store)(y, low);
            OF(store)(y + n - LANES, high);
        }
    } else if (stride == 2 && n == COLUMNS) {
        CHANNELS {
            OF(every_second)(x, y);
            OF(every_second)(x + 2 * LANES, y + LANES);
        }
    } else
        CHANNELS {
            for (ptrdiff_t i = 0; i < n; i++)
                y[i] = x[i * stride];
        }
#undef CHANNELS
}

/* One panel of a chunk: `pixels` columns from `pixel`, zeros beyond the input and beyond the last pixel. */
static void OF(pack_pixels)(const Convolution *how, const REAL *x, ptrdiff_t pixel, ptrdiff_t pixels, const Chunk *chunk,
                            REAL *out) {
    Run runs[MOST_RUNS];
    Inside in[MOST_RUNS];
    ptrdiff_t plane = volume(how->size), tap[AXES];
    int n = runs_of(how, pixel, pixels, runs);
    x += chunk->c * plane;
    offset_of(how, chunk->t, tap);
    for (ptrdiff_t t = 0; t < chunk->taps; t++, next_offset(how, tap), out += chunk->channels * COLUMNS) {
        ptrdiff_t covered = 0;
        for (int r = 0; r < n; r++) {
            in[r] = inside(how, runs + r, tap);
            covered += in[r].count;
        }
        if (covered < COLUMNS)
            memset(out, 0, chunk->channels * COLUMNS * sizeof(REAL));
        for (int r = 0; r < n; r++)
            if (in[r].count)
                OF(copy)(x + in[r].from, plane, out + runs[r].to + in[r].first, in[r].count, how->stride[2], chunk->channels);
    }
}

/* The weights of a chunk for `rows` output channels of a group from channel i, packed into scratch if they are not yet. */
static OF(Factor) OF(weights)(const ConvolutionCall *call, ptrdiff_t group, ptrdiff_t i, ptrdiff_t rows, const Chunk *chunk,
                              REAL *scratch) {
    const Convolution *how = call->how;
    ptrdiff_t taps = volume(how->kernel), depth = chunk->channels * chunk->taps, all = how->in_channels * taps;
    if (how->panels) {
        ptrdiff_t before = group * all + chunk->c * taps + chunk->t * chunk->channels;
        const REAL *of_chunk = (const REAL *)how->panels + before * pieces(how->out_channels, ROWS) * ROWS;
        return (OF(Factor)){of_chunk + i * depth, depth * ROWS, 1, ROWS};
    }
    OF(pack_chunk)((const REAL *)call->w + (group * how->out_channels + i) * all, rows, how->in_channels, taps, chunk, scratch);
    return (OF(Factor)){scratch, depth * ROWS, 1, ROWS};
}

/* A block of one image and group: output channels from i, pixels from `pixel`. */
static void OF(piece)(const ConvolutionCall *call, ptrdiff_t image, ptrdiff_t group, ptrdiff_t i, ptrdiff_t pixel, ptrdiff_t rows,
                      ptrdiff_t pixels, REAL *scratch) {
    const Convolution *how = call->how;
    ptrdiff_t plane = volume(how->size), out = volume(how->out), taps = volume(how->kernel), m = group * how->out_channels + i;
    const REAL *x = (const REAL *)call->x + (image * how->groups + group) * how->in_channels * plane;
    ptrdiff_t to = (image * how->groups * how->out_channels + m) * out + pixel;
    REAL *room = scratch + PANEL_BLOCK * COLUMNS * DEPTH;
    OF(Epilogue) e = {(REAL *)call->y + to, out, call->bias ? (const REAL *)call->bias + m : NULL, 1, 0, 1, 1, true,
                      call->residual ? (const REAL *)call->residual + to : NULL, NULL, NULL};
    /* With few rows, or few planes to read for more of them, a copy of the pixels does not pay. */
    bool few = rows <= DIRECT_ROWS || (rows <= IN_PLACE && how->in_channels <= IN_PLACE);
    ptrdiff_t direct = reads_in_place(how) && few ? pixels / COLUMNS * COLUMNS : 0;
    Chunk chunk, next = first_chunk(how->in_channels, taps);
    bool more;
    do {
        chunk = next;
        more = next_chunk(&next, how->in_channels, taps);
        if (!more)
            OF(end_in)(&e, &how->activation);
        ptrdiff_t depth = chunk.channels * chunk.taps;
        OF(Factor) plain = {x + chunk.c * plane + pixel, COLUMNS, 1, plane}, panels = {scratch, depth * COLUMNS, 1, COLUMNS};
        for (ptrdiff_t j = direct; j < pixels; j += COLUMNS)
            OF(pack_pixels)(how, x, pixel + j, lesser(COLUMNS, pixels - j), &chunk, scratch + (j - direct) * depth);
        for (ptrdiff_t r = 0; r < rows; r += ROW_BLOCK) {
            ptrdiff_t some = lesser(ROW_BLOCK, rows - r);
            OF(Factor) w = OF(weights)(call, group, i + r, some, &chunk, room);
            OF(Epilogue) near = OF(from)(&e, r, 0), far = OF(from)(&e, r, direct);
            OF(block)(&w, &plain, some, direct, depth, &near);
            OF(block)(&w, &panels, some, pixels - direct, depth, &far);
        }
        e.first = false;
    } while (more);
}

static int OF(pieces)(const void *args, ptrdiff_t begin, ptrdiff_t end, void *scratch) {
    const ConvolutionCall *call = args;
    const Convolution *how = call->how;
    for (ptrdiff_t item = begin; item < end; item++) {
        ptrdiff_t i = item % call->row_blocks * call->rows, rest = item / call->row_blocks;
        ptrdiff_t pixel = rest % call->pixel_blocks * call->pixels, plane = rest / call->pixel_blocks;
        OF(piece)(call, plane / how->groups, plane % how->groups, i, pixel, lesser(call->rows, how->out_channels - i),
                  lesser(call->pixels, volume(how->out) - pixel), scratch);
    }
    return 0;
}
