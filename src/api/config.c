// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "api/config.h"

#include "base/alloc.h"
#include "base/error.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define VALUE_BYTES_MAX 65536u

typedef struct property {
    const char *name, *scope, *type, *preset;
    int64_t least, most;
    const char *help;
} property;

static const property properties[PROPERTY_COUNT] = {
#define PROPERTY_ROW(id, name, scope, type, preset, least, most, help)                             \
    {name, scope, type, preset, least, most, help},
    PROPERTY_MAP(PROPERTY_ROW)
#undef PROPERTY_ROW
};

struct bw_config {
    atomic_int interrupted;
    struct {
        char *text; /* NULL: not set */
        uint64_t number;
    } values[PROPERTY_COUNT];
};

/* ---- values ---- */

typedef struct unit {
    const char *name;
    uint64_t factor;
} unit;

static const unit size_units[] = {
    {"", 1},
    {"B", 1},
    {"KiB", 1ull << 10},
    {"MiB", 1ull << 20},
    {"GiB", 1ull << 30},
    {"TiB", 1ull << 40},
    {NULL, 0},
};
static const unit time_units[] = {
    {"ms", 1000000},
    {"s", 1000000000},
    {NULL, 0},
};
static const unit plain_units[] = {{"", 1}, {NULL, 0}};

/* Decimal digits and one of `units`; false when it is anything else or overflows. */
static bool parse_number(const char *text, const unit *units, uint64_t *out)
{
    uint64_t value = 0;
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        const uint64_t digit = (uint64_t)(*at - '0');
        if (value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    if (at == text)
        return false;
    for (const unit *u = units; u->name != NULL; u++)
        if (strcmp(at, u->name) == 0) {
            if (value > UINT64_MAX / u->factor)
                return false;
            *out = value * u->factor;
            return true;
        }
    return false;
}

static const unit *units_of(const property *p)
{
    if (strcmp(p->type, "size") == 0)
        return size_units;
    if (strcmp(p->type, "time") == 0)
        return time_units;
    return strcmp(p->type, "integer") == 0 ? plain_units : NULL;
}

static bool parse_choice(const char *choices, const char *text, uint64_t *out)
{
    const size_t size = strlen(text);
    uint64_t index = 0;
    for (const char *at = choices; *at != '\0'; index++) {
        const size_t length = strcspn(at, "|");
        if (length == size && memcmp(at, text, size) == 0) {
            *out = index;
            return true;
        }
        at += length;
        at += *at == '|';
    }
    return false;
}

static bw_status parse_bounded(const property *p, const unit *units, const char *text,
                               uint64_t *out, bw_error *error)
{
    if (!parse_number(text, units, out))
        return error_set(error, BW_INVALID, "%s=\"%.80s\": %s", p->name, text,
                         units == size_units   ? "a size is bytes, or a number with KiB, MiB, GiB "
                                                 "or TiB"
                         : units == time_units ? "a time is a number with ms or s"
                                               : "an integer is decimal digits");
    if (*out < (uint64_t)p->least || *out > (uint64_t)p->most)
        return error_set(error, BW_INVALID, "%s=%s is out of range: %" PRId64 " … %" PRId64 "%s",
                         p->name, text, p->least, p->most, units == time_units ? " ns" : "");
    return BW_OK;
}

static bw_status parse_value(const property *p, const char *text, uint64_t *out, bw_error *error)
{
    const unit *units = units_of(p);
    if (units != NULL)
        return parse_bounded(p, units, text, out, error);
    if (strcmp(p->type, "text") == 0)
        return strlen(text) <= VALUE_BYTES_MAX
                   ? BW_OK
                   : error_set(error, BW_INVALID, "%s: more than %u bytes", p->name,
                               VALUE_BYTES_MAX);
    const char *choices = strcmp(p->type, "switch") == 0 ? "false|true" : p->type;
    if (!parse_choice(choices, text, out))
        return error_set(error, BW_INVALID, "%s=\"%.80s\": one of %s", p->name, text, choices);
    return BW_OK;
}

/* ---- public ---- */

bw_config *bw_config_new(void)
{
    bw_config *config = mem_zalloc(sizeof *config);
    if (config != NULL)
        atomic_init(&config->interrupted, 0);
    return config;
}

void bw_config_free(bw_config *config)
{
    if (config == NULL)
        return;
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        mem_free(config->values[i].text);
    mem_free(config);
}

void bw_config_interrupt(bw_config *config, int on)
{
    if (config != NULL)
        atomic_store(&config->interrupted, on != 0);
}

static const property *find(const char *name)
{
    for (size_t i = 0; i < PROPERTY_COUNT; i++)
        if (strcmp(properties[i].name, name) == 0)
            return &properties[i];
    return NULL;
}

bw_status bw_config_set(bw_config *config, const char *name, const char *value, bw_error *error)
{
    if (config == NULL || name == NULL || value == NULL)
        return error_set(error, BW_INVALID, "bw_config_set: an argument is NULL");
    const property *p = find(name);
    if (p == NULL)
        return error_set(error, BW_INVALID,
                         "there is no setting \"%.80s\"; `batchweave help settings` lists them",
                         name);
    uint64_t number = 0;
    BW_TRY(parse_value(p, value, &number, error));
    char *text = mem_strdup(value);
    if (text == NULL)
        return error_set(error, BW_NOMEM, "out of memory");
    const size_t index = (size_t)(p - properties);
    mem_free(config->values[index].text);
    config->values[index].text = text;
    config->values[index].number = number;
    return BW_OK;
}

const char *bw_config_get(const bw_config *config, const char *name)
{
    const property *p = name != NULL ? find(name) : NULL;
    return p != NULL ? config_text(config, (property_id)(p - properties)) : NULL;
}

size_t bw_config_count(void)
{
    return PROPERTY_COUNT;
}

static const property *at(size_t index)
{
    static const property none = {"", "", "", NULL, 0, 0, ""};
    return index < PROPERTY_COUNT ? &properties[index] : &none;
}

const char *bw_config_name(size_t index)
{
    return at(index)->name;
}

const char *bw_config_scope(size_t index)
{
    return at(index)->scope;
}

const char *bw_config_type(size_t index)
{
    return at(index)->type;
}

const char *bw_config_default(size_t index)
{
    return at(index)->preset;
}

const char *bw_config_help(size_t index)
{
    return at(index)->help;
}

/* ---- inside ---- */

const atomic_int *config_stop(const bw_config *config)
{
    return config != NULL ? &config->interrupted : NULL;
}

bw_status config_check_stop(const bw_config *config, bw_error *error)
{
    if (config == NULL || atomic_load(&config->interrupted) == 0)
        return BW_OK;
    return error_set(error, BW_INTERRUPTED, "the call was interrupted");
}

bw_status config_ended(const bw_config *config, bw_status status, bw_error *error)
{
    if (status != BW_OK)
        BW_TRY(config_check_stop(config, error));
    return status;
}

bool config_is_set(const bw_config *config, property_id id)
{
    return config != NULL && config->values[id].text != NULL;
}

bool config_has(const bw_config *config, property_id id)
{
    return config_text(config, id) != NULL;
}

const char *config_text(const bw_config *config, property_id id)
{
    return config_is_set(config, id) ? config->values[id].text : properties[id].preset;
}

uint64_t config_number(const bw_config *config, property_id id)
{
    if (config_is_set(config, id))
        return config->values[id].number;
    uint64_t number = 0;
    if (properties[id].preset != NULL) {
        const bw_status status = parse_value(&properties[id], properties[id].preset, &number, NULL);
        assert(status == BW_OK); /* a test sets every default */
        (void)status;
    }
    return number;
}
