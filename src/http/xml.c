// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "http/xml.h"

#include "base/alloc.h"
#include "http/secret.h"

#include <expat.h>
#include <limits.h>
#include <string.h>

struct xml {
    XML_Parser parser;
    xml_element_fn element;
    void *context;
    bw_status status;
    size_t bytes_left;
    size_t depth;
    size_t path_size;
    char path[XML_PATH_MAX];
    /* Text of the open elements, one behind the other. */
    size_t starts[XML_DEPTH_MAX];
    size_t text_size;
    char text[XML_TEXT_MAX + 1];
};

static void stop(xml *x, bw_status status)
{
    x->status = status;
    (void)XML_StopParser(x->parser, XML_FALSE);
}

static void XMLCALL on_start(void *context, const XML_Char *name, const XML_Char **attributes)
{
    xml *x = context;
    (void)attributes;
    if (x->status != BW_OK)
        return;
    const size_t size = strlen(name);
    if (x->depth == XML_DEPTH_MAX || x->path_size + size + 2 > sizeof x->path) {
        stop(x, BW_CORRUPT);
        return;
    }
    if (x->depth > 0)
        x->path[x->path_size++] = '/';
    memcpy(x->path + x->path_size, name, size + 1);
    x->path_size += size;
    x->starts[x->depth++] = x->text_size;
}

static void XMLCALL on_end(void *context, const XML_Char *name)
{
    xml *x = context;
    if (x->status != BW_OK) /* an empty element ends although its start stopped the parser */
        return;
    const size_t start = x->starts[--x->depth];
    x->text[x->text_size] = '\0';
    const bw_status status = x->element(x->context, x->path, x->text + start);
    x->text_size = start;
    x->path_size -= strlen(name);
    x->path_size -= x->depth > 0; /* the slash */
    x->path[x->path_size] = '\0';
    if (status != BW_OK)
        stop(x, status);
}

static void XMLCALL on_text(void *context, const XML_Char *text, int size)
{
    xml *x = context;
    if (x->status != BW_OK)
        return;
    if ((size_t)size > XML_TEXT_MAX - x->text_size) {
        stop(x, BW_CORRUPT);
        return;
    }
    memcpy(x->text + x->text_size, text, (size_t)size);
    x->text_size += (size_t)size;
}

static void XMLCALL on_document_type(void *context, const XML_Char *name, const XML_Char *system,
                                     const XML_Char *public_id, int has_subset)
{
    (void)name;
    (void)system;
    (void)public_id;
    (void)has_subset;
    stop(context, BW_CORRUPT);
}

bw_status xml_new(size_t bytes_max, xml_element_fn element, void *context, xml **out)
{
    static const XML_Memory_Handling_Suite memory = {mem_alloc, mem_realloc, mem_free};
    xml *x = mem_zalloc(sizeof *x);
    if (x == NULL)
        return BW_NOMEM;
    x->parser = XML_ParserCreate_MM(NULL, &memory, NULL);
    if (x->parser == NULL) {
        mem_free(x);
        return BW_NOMEM;
    }
    x->element = element;
    x->context = context;
    x->bytes_left = bytes_max;
    XML_SetUserData(x->parser, x);
    XML_SetElementHandler(x->parser, on_start, on_end);
    XML_SetCharacterDataHandler(x->parser, on_text);
    XML_SetStartDoctypeDeclHandler(x->parser, on_document_type);
    *out = x;
    return BW_OK;
}

void xml_free(xml *x)
{
    if (x == NULL)
        return;
    XML_ParserFree(x->parser);
    secret_wipe(x, sizeof *x); /* there may have been keys in it */
    mem_free(x);
}

static bw_status parse(xml *x, const char *bytes, size_t size, int last)
{
    if (x->status != BW_OK)
        return x->status;
    if (size > x->bytes_left || size > INT_MAX)
        return x->status = BW_CORRUPT;
    x->bytes_left -= size;
    if (XML_Parse(x->parser, bytes, (int)size, last) == XML_STATUS_OK || x->status != BW_OK)
        return x->status;
    x->status = XML_GetErrorCode(x->parser) == XML_ERROR_NO_MEMORY ? BW_NOMEM : BW_CORRUPT;
    return x->status;
}

bw_status xml_feed(xml *x, const void *bytes, size_t size)
{
    return parse(x, bytes, size, 0);
}

bw_status xml_end(xml *x)
{
    return parse(x, "", 0, 1);
}
