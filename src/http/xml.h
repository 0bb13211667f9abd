// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/**
 * xml: a streaming reader of answers that are not trusted. It tells each element when it ends, with
 * the text that stood directly in it. Limits: depth, name, text of one element, bytes of the whole;
 * a document type (and with it every entity of its own) is refused.
 */
#ifndef HTTP_XML_H
#define HTTP_XML_H

#include <batchweave/status.h>
#include <stddef.h>

#define XML_DEPTH_MAX 8u
#define XML_PATH_MAX 256u
#define XML_TEXT_MAX 8192u

typedef struct xml xml;

/** `path`: names from the root, as in `Error/Code`. `text` ends in a NUL, has no other, and is
 * the reader's. BW_OK, or what feeding shall end with. */
typedef bw_status (*xml_element_fn)(void *context, const char *path, const char *text);

bw_status xml_new(size_t bytes_max, xml_element_fn element, void *context, xml **out);
void xml_free(xml *x); /* NULL is fine */
/** BW_CORRUPT (not well-formed, beyond a limit), BW_NOMEM, or what an element returned. Sticky. */
bw_status xml_feed(xml *x, const void *bytes, size_t size);
/** Nothing comes any more: the document must be whole. */
bw_status xml_end(xml *x);

#endif
