// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "scene_content.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SLOT_BYTES (ITEM_BYTES_MAX + 64u)
#define SLICES_MAX 8u

/* Filled at first use and never changed: borrowed by any producer, of any life. One thread. */
static char pool[BATCHES_MAX][SLICES_MAX][SLOT_BYTES];
static char states[BATCHES_MAX][1024];

bool content_is_pad(const scene_shape *shape, uint32_t batch, uint32_t d, uint32_t c, uint32_t item)
{
    return batch + 1 == shape->batches && d + 1 == shape->dp && c + 1 == shape->cp &&
           item + 1 == shape->items && batch > 0;
}

static size_t item_size(const scene_shape *shape, uint32_t batch, uint32_t slot)
{
    return shape->item_bytes - (batch * 7 + slot * 13) % 31;
}

char *content_item(const scene_shape *shape, uint32_t batch, uint32_t d, uint32_t c, uint32_t item,
                   size_t *size)
{
    const uint32_t slot = (d * shape->cp + c) * shape->items + item;
    char *text = pool[batch][slot];
    *size = item_size(shape, batch, slot);
    char head[32];
    const int length = snprintf(head, sizeof head, "%u %u %u %u ", batch, d, c, item);
    if (memcmp(text, head, (size_t)length) != 0) {
        for (size_t i = (size_t)length; i < *size; i++)
            text[i] = (char)('a' + (i + slot + batch) % 26);
        memcpy(text, head, (size_t)length);
    }
    return text;
}

const void *content_state(const scene_shape *shape, uint32_t batch, size_t *size)
{
    *size = shape->state_bytes;
    memset(states[batch], (int)('A' + batch % 26), sizeof states[batch]);
    return states[batch];
}

bool content_is_state(const scene_shape *shape, uint32_t batch, const void *state, size_t size)
{
    size_t expected = 0;
    const void *wanted = content_state(shape, batch, &expected);
    return size == expected && (size == 0 || memcmp(state, wanted, size) == 0);
}

void content_check(scene *w, const bw_item *item, uint64_t step, uint32_t d, uint32_t c,
                   uint32_t index)
{
    const void *data = NULL;
    size_t size = 0, expected = 0;
    bw_item_view(item, &data, &size);
    const bool pad =
        step < w->shape->batches && content_is_pad(w->shape, (uint32_t)step, d, c, index);
    if (bw_item_step(item) != step || bw_item_d(item) != d || bw_item_c(item) != c ||
        bw_item_index(item) != index || step >= w->shape->batches) {
        scene_wrong(w,
                    "item of step %" PRIu64 " (%u, %u) %u where step %" PRIu64
                    " (%u, %u) %u was expected",
                    bw_item_step(item), bw_item_d(item), bw_item_c(item), bw_item_index(item), step,
                    d, c, index);
        return;
    }
    const char *text = content_item(w->shape, (uint32_t)step, d, c, index, &expected);
    if (pad ? (size != 0 || !bw_item_pad(item))
            : (size != expected || memcmp(data, text, size) != 0))
        scene_wrong(w, "step %" PRIu64 " (%u, %u) %u has other bytes than were put", step, d, c,
                    index);
}
