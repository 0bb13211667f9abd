// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "input/tarmember.h"

#include "base/error.h"
#include "input/tarheader.h"

#include <inttypes.h>
#include <string.h>

/** Of pax headers; a path and a size need far less. */
#define PAX_BYTES_MAX (1u << 20)
/** Memory for data grows by at most this much ahead of its bytes. */
#define STEP_BYTES (256u << 10)

static uint64_t padded(uint64_t size)
{
    return (size + TAR_BLOCK_BYTES - 1) / TAR_BLOCK_BYTES * TAR_BLOCK_BYTES;
}

static bw_status bad(const filereader *f, uint64_t at, const char *what, bw_error *error)
{
    return record_fail(error, BW_INPUT_BAD, filereader_document(f), at, "%s", what);
}

static bw_status truncated(const filereader *f, const char *where, bw_error *error)
{
    return record_fail(error, BW_INPUT_BAD, filereader_document(f), filereader_at(f),
                       "the archive ends %s: truncated", where);
}

static bw_status read_block(filereader *f, uint8_t *block, bw_error *error)
{
    size_t got;
    BW_TRY(bytestream_read(&f->bytes, block, TAR_BLOCK_BYTES, &got, error));
    if (got == TAR_BLOCK_BYTES)
        return BW_OK;
    return truncated(f, got == 0 ? "without its end-of-archive block" : "within a header", error);
}

static bw_status skip(filereader *f, uint64_t size, bw_error *error)
{
    uint64_t got;
    BW_TRY(bytestream_skip(&f->bytes, size, &got, error));
    return got == size ? BW_OK : truncated(f, "within the data of a member", error);
}

/** Behind the first zero block: a second one, and zeros up to the size of a tape record. */
static bw_status check_end(filereader *f, bw_error *error)
{
    for (;;) {
        const uint8_t *bytes;
        size_t got;
        uint64_t passed;
        BW_TRY(bytestream_peek(&f->bytes, BYTESTREAM_PEEK_MAX, &bytes, &got, error));
        for (size_t i = 0; i < got; i++)
            if (bytes[i] != 0)
                return bad(f, filereader_at(f) + i,
                           "something stands behind the end of the archive (two archives in one "
                           "file?)",
                           error);
        if (got == 0)
            return BW_END;
        BW_TRY(bytestream_skip(&f->bytes, got, &passed, error));
    }
}

/** What headers before a member's own say of it. */
typedef struct extras {
    tar_pax pax;
    buf records; /* pax points into it */
    buf name;    /* GNU long name */
} extras;

static bw_status read_extra(filereader *f, const tar_header *h, uint64_t at, size_t max, buf *out,
                            bw_error *error)
{
    size_t got;
    if (h->size > max)
        return bad(f, at, "a header of a header that is too long", error);
    buf_reset(out);
    if (buf_reserve(out, (size_t)padded(h->size)) != BW_OK)
        return error_set(error, BW_NOMEM, "no memory for a tar header");
    BW_TRY(bytestream_read(&f->bytes, out->data, (size_t)padded(h->size), &got, error));
    if (got < padded(h->size))
        return truncated(f, "within a header", error);
    out->size = (size_t)h->size;
    return BW_OK;
}

/** A header that tells of the member behind it; `*taken`: it was one. */
static bw_status take_extra(filereader *f, const tar_header *h, uint64_t at, extras *x, bool *taken,
                            bw_error *error)
{
    const char *wrong = NULL;
    *taken = true;
    switch (h->type) {
    case 'x':
        BW_TRY(read_extra(f, h, at, PAX_BYTES_MAX, &x->records, error));
        wrong = tar_read_pax(x->records.data, x->records.size, &x->pax);
        break;
    case 'g': {
        tar_pax global = {.path = NULL};
        buf records;
        buf_init(&records, padded(PAX_BYTES_MAX));
        const bw_status status = read_extra(f, h, at, PAX_BYTES_MAX, &records, error);
        if (status == BW_OK)
            wrong = tar_read_pax(records.data, records.size, &global);
        const bool says =
            status == BW_OK && wrong == NULL && (global.path != NULL || global.has_size);
        buf_free(&records);
        BW_TRY(status);
        if (says)
            wrong = "a global pax header with a path or size";
        break;
    }
    case 'L':
        BW_TRY(read_extra(f, h, at, TAR_PATH_BYTES_MAX + 1, &x->name, error));
        x->name.size = x->name.size > 0 ? strnlen((const char *)x->name.data, x->name.size) : 0;
        break;
    case 'K': /* the target of a link, which is refused as such */
        BW_TRY(skip(f, padded(h->size), error));
        break;
    default:
        *taken = false;
        break;
    }
    return wrong == NULL ? BW_OK : bad(f, at, wrong, error);
}

static const char *set_member(const tar_header *h, const extras *x, tar_member *m)
{
    const uint8_t *name = (const uint8_t *)h->name;
    m->name_bytes = strlen(h->name);
    if (x->name.size > 0) {
        name = x->name.data;
        m->name_bytes = x->name.size;
    }
    if (x->pax.path != NULL) {
        name = x->pax.path;
        m->name_bytes = x->pax.path_bytes;
    }
    if (m->name_bytes == 0 || m->name_bytes > TAR_PATH_BYTES_MAX)
        return m->name_bytes == 0 ? "a member without a name" : "a name that is too long";
    memcpy(m->name, name, m->name_bytes);
    m->name[m->name_bytes] = '\0';
    m->type = h->type == '\0' || h->type == '7' ? '0' : h->type;
    m->size = x->pax.has_size ? x->pax.size : h->size;
    /* Old archives mark a directory by the slash at the end of its name alone. */
    if (m->type == '0' && m->name[m->name_bytes - 1] == '/')
        m->type = '5';
    /* Links and directories have no data, whatever their size says. */
    const bool holds_data = m->type == '0' || strchr("123456", m->type) == NULL;
    if (!holds_data)
        m->size = 0;
    if (m->size > INT64_MAX - TAR_BLOCK_BYTES)
        return "a size that no file has";
    m->left = padded(m->size);
    return NULL;
}

static bw_status next_member(filereader *f, tar_member *m, extras *x, bw_error *error)
{
    bool first = true;
    for (;;) {
        uint8_t block[TAR_BLOCK_BYTES];
        tar_header h;
        const uint64_t at = filereader_at(f);
        if (first)
            m->at = at;
        BW_TRY(read_block(f, block, error));
        if (tar_is_end(block))
            return first ? check_end(f, error)
                         : bad(f, at, "the archive ends behind half a header", error);
        const char *wrong = tar_read_header(block, &h);
        if (wrong != NULL)
            return bad(f, at, wrong, error);
        bool taken;
        BW_TRY(take_extra(f, &h, at, x, &taken, error));
        if (!taken) {
            wrong = set_member(&h, x, m);
            return wrong == NULL ? BW_OK : bad(f, at, wrong, error);
        }
        first = first && h.type == 'g';
    }
}

bw_status tar_member_next(filereader *f, tar_member *m, bw_error *error)
{
    const uint64_t left = m->left;
    m->left = 0;
    m->name_bytes = 0;
    BW_TRY(skip(f, left, error));
    extras x = {.pax = {0}};
    buf_init(&x.records, padded(PAX_BYTES_MAX));
    buf_init(&x.name, padded(TAR_PATH_BYTES_MAX + 1));
    const bw_status status = next_member(f, m, &x, error);
    buf_free(&x.records);
    buf_free(&x.name);
    if (status != BW_OK)
        m->name_bytes = 0;
    return status;
}

bw_status tar_member_read(filereader *f, tar_member *m, buf *out, bw_error *error)
{
    uint64_t left = m->size;
    while (left > 0) {
        const size_t step = left < STEP_BYTES ? (size_t)left : STEP_BYTES;
        size_t got;
        if (buf_reserve(out, step) != BW_OK)
            return error_set(error, BW_NOMEM, "no memory for a member of %" PRIu64 " bytes",
                             m->size);
        BW_TRY(bytestream_read(&f->bytes, out->data + out->size, step, &got, error));
        out->size += got;
        left -= got;
        m->left -= got;
        if (got < step)
            return truncated(f, "within the data of a member", error);
    }
    const uint64_t rest = m->left;
    m->left = 0;
    return skip(f, rest, error);
}
