// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/* "list". */
#include "client/listing.h"
#include "client/reports.h"

static bw_status emit_entry(void *context, const store_entry *entry, bw_error *error)
{
    report *r = context;
    key_fields fields;
    key_parse(view_text(entry->key), &fields);
    json_put_object(&r->out, NULL);
    json_put_text(&r->out, "key", entry->key);
    json_put_text(&r->out, "kind", key_kind_name(fields.kind));
    json_put_u64(&r->out, "bytes", entry->bytes);
    if (entry->modified_ms > 0)
        json_put_i64(&r->out, "modified_ms", entry->modified_ms);
    else
        json_put_null(&r->out, "modified_ms");
    json_put_object_end(&r->out);
    return report_emit(r, error);
}

bw_status report_list(report *r, bw_error *error)
{
    store *s = NULL;
    BW_TRY(space_store(r->space, &s, error));
    const bw_status status = listing_everything(s, r->options->prefix, emit_entry, r, error);
    store_close(s);
    return status;
}
