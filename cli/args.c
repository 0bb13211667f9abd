// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/** A decimal without sign or space, all of `text` up to `*end`. */
static bool parse_u64(const char *text, const char **end, uint64_t *value)
{
    if (*text < '0' || *text > '9')
        return false;
    char *behind;
    errno = 0;
    const unsigned long long parsed = strtoull(text, &behind, 10);
    *end = behind;
    *value = parsed;
    return errno == 0;
}

static bool parse_integer(const char *text, uint64_t *value)
{
    const char *end;
    return parse_u64(text, &end, value) && *end == '\0';
}

static bool parse_size(const char *text, uint64_t *value)
{
    static const char *const units[] = {"", "KiB", "MiB", "GiB", "TiB"};
    const char *end;
    if (!parse_u64(text, &end, value))
        return false;
    for (unsigned i = 0; i < COUNT_OF(units); i++)
        if (strcmp(end, units[i]) == 0) {
            if (*value > UINT64_MAX >> (10 * i))
                return false;
            *value <<= 10 * i;
            return true;
        }
    return false;
}

/** Seconds with up to nine decimals, or with the unit ms or s; at most a century. */
static bool parse_time(const char *text, uint64_t *ns)
{
    const char *end;
    uint64_t whole, scale = 1000000000u;
    if (!parse_u64(text, &end, &whole) || whole > 3155760000u)
        return false;
    uint64_t fraction = 0, digit = 100000000u;
    if (*end == '.') {
        for (end++; *end >= '0' && *end <= '9'; end++) {
            fraction += (uint64_t)(*end - '0') * digit;
            digit /= 10;
        }
    }
    if (strcmp(end, "ms") == 0) {
        scale = 1000000u;
        fraction /= 1000;
    } else if (strcmp(end, "s") != 0 && *end != '\0') {
        return false;
    }
    *ns = whole * scale + fraction;
    return true;
}

static bool parse_shard(const char *text, uint64_t *shard, uint64_t *shards)
{
    const char *end;
    return parse_u64(text, &end, shard) && *end == '/' && parse_integer(end + 1, shards) &&
           *shards >= 1 && *shards <= UINT32_MAX && *shard < *shards;
}

bool args_span(const char *text, uint64_t *first, uint64_t *end)
{
    const char *dash;
    return parse_u64(text, &dash, first) && *dash == '-' && parse_integer(dash + 1, end);
}

static size_t all_options(const cli *c)
{
    return c->command->option_count + global_option_count;
}

static const option *option_at(const cli *c, size_t index)
{
    const size_t own = c->command->option_count;
    return index < own ? &c->command->options[index] : &global_options[index - own];
}

/** The index of the option called `name` (of `size` bytes), or one behind the last. */
static size_t option_index(const cli *c, const char *name, size_t size)
{
    size_t i = 0;
    while (i < all_options(c) && (strlen(option_at(c, i)->name) != size ||
                                  strncmp(option_at(c, i)->name, name, size) != 0))
        i++;
    return i;
}

static bw_status bad_value(cli *c, const option *o, const char *text, const char *legal)
{
    return cli_fail(c, BW_INVALID, "--%s %s: %s expected", o->name, text, legal);
}

static bw_status check_range(cli *c, const option *o, const char *text, uint64_t number)
{
    if (number >= o->min && number <= o->max)
        return BW_OK;
    return cli_fail(c, BW_INVALID, "--%s %s: from %" PRIu64 " to %" PRIu64 " is legal", o->name,
                    text, o->min, o->max);
}

/** Checks `text` as a value of `o` and stores it. */
static bw_status take_value(cli *c, const option *o, option_value *value, const char *text)
{
    value->text = text;
    switch (o->type) {
    case OPTION_INTEGER:
        if (!parse_integer(text, &value->number))
            return bad_value(c, o, text, "a decimal number");
        return check_range(c, o, text, value->number);
    case OPTION_SIZE:
        if (!parse_size(text, &value->number))
            return bad_value(c, o, text, "bytes, or a number of KiB, MiB, GiB or TiB,");
        return check_range(c, o, text, value->number);
    case OPTION_TIME:
        if (!parse_time(text, &value->number))
            return bad_value(c, o, text, "seconds, or a number of ms or s,");
        return BW_OK;
    case OPTION_SHARD:
        if (!parse_shard(text, &value->number, &value->second))
            return bad_value(c, o, text, "i/n with i below n");
        return BW_OK;
    case OPTION_SETTING:
        (void)parse_integer(text, &value->number); /* the setting says whether it is legal */
        return bw_config_set(c->config, o->setting, text, c->error);
    case OPTION_SWITCH:
    case OPTION_TEXT:
        break;
    }
    return BW_OK;
}

static bw_status apply_set(cli *c, const char *text)
{
    const char *equals = strchr(text, '=');
    char name[128];
    if (equals == NULL || equals == text || (size_t)(equals - text) >= sizeof name)
        return cli_fail(c, BW_INVALID, "--set %s: NAME=VALUE expected", text);
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = '\0';
    return bw_config_set(c->config, name, equals + 1, c->error);
}

/** One option word, and its value when that is the next word. */
static bw_status take_option(cli *c, int argc, char **argv, int *i)
{
    const char *word = argv[*i];
    const char *name = word + 2, *text = NULL;
    if (strcmp(word, "-h") == 0) {
        name = "help";
    } else if (strncmp(word, "-o", 2) == 0) {
        name = "output";
        text = word[2] != '\0' ? word + 2 : NULL;
    } else if (word[1] != '-') {
        return cli_fail(c, BW_INVALID, "%s: no such option", word);
    }
    const char *equals = word[1] == '-' ? strchr(name, '=') : NULL;
    const size_t size = equals != NULL ? (size_t)(equals - name) : strlen(name);
    if (equals != NULL)
        text = equals + 1;
    const size_t index = option_index(c, name, size);
    if (index == all_options(c))
        return cli_fail(c, BW_INVALID, "%s: no such option of batchweave %s", word,
                        c->command->name);
    const option *o = option_at(c, index);
    option_value *value = &c->values[index];
    const bool repeatable = strcmp(o->name, "set") == 0;
    if (value->given && !repeatable)
        return cli_fail(c, BW_INVALID, "--%s is given twice", o->name);
    value->given = true;
    if (o->type == OPTION_SWITCH)
        return text == NULL ? BW_OK : cli_fail(c, BW_INVALID, "--%s takes no value", o->name);
    if (text == NULL && *i + 1 < argc)
        text = argv[++*i];
    if (text == NULL)
        return cli_fail(c, BW_INVALID, "--%s needs a value: %s", o->name, o->value);
    return repeatable ? apply_set(c, text) : take_value(c, o, value, text);
}

static bw_status apply_defaults(cli *c)
{
    for (size_t i = 0; i < all_options(c); i++) {
        const option *o = option_at(c, i);
        option_value *value = &c->values[i];
        if (value->given)
            continue;
        if (o->required)
            return cli_fail(c, BW_INVALID, "--%s %s is needed", o->name, o->value);
        /* A setting's default is the library's own. */
        if (o->preset == NULL || o->type == OPTION_SETTING)
            continue;
        const bw_status status = take_value(c, o, value, o->preset);
        if (status != BW_OK)
            return status;
    }
    return BW_OK;
}

static bw_status apply_globals(cli *c)
{
    const char *output = args_text(c, "output");
    if (strcmp(output, "json") != 0 && strcmp(output, "text") != 0)
        return cli_fail(c, BW_INVALID, "--output %s: text or json expected", output);
    c->json = output[0] == 'j';
    c->progress = args_given(c, "progress");
    c->timeout_ns =
        args_given(c, "timeout") ? (int64_t)args_number(c, "timeout") : (int64_t)BW_FOREVER;
    return BW_OK;
}

static bw_status check_operands(cli *c)
{
    const command *what = c->command;
    if (c->operand_count < what->operands_min)
        return cli_fail(c, BW_INVALID, "usage: batchweave %s %s", what->name, what->operands);
    if (c->operand_count > what->operands_max)
        return cli_fail(c, BW_INVALID, "%s is one argument too many; usage: batchweave %s %s",
                        c->operands[what->operands_max], what->name, what->operands);
    return BW_OK;
}

bw_status args_parse(cli *c, const command *what, int argc, char **argv)
{
    c->command = what;
    if (all_options(c) > OPTIONS_MAX)
        return cli_fail(c, BW_BUG, "batchweave %s has too many options", what->name);
    c->operands = calloc((size_t)argc + 1, sizeof *c->operands);
    if (c->operands == NULL)
        return cli_fail(c, BW_NOMEM, "no memory for the arguments");
    bool options_end = false;
    for (int i = 0; i < argc; i++) {
        if (options_end || argv[i][0] != '-' || argv[i][1] == '\0') {
            c->operands[c->operand_count++] = argv[i];
        } else if (strcmp(argv[i], "--") == 0) {
            options_end = true;
        } else {
            const bw_status status = take_option(c, argc, argv, &i);
            if (status != BW_OK)
                return status;
        }
    }
    if (args_given(c, "help"))
        return BW_OK;
    bw_status status = apply_defaults(c);
    if (status == BW_OK)
        status = apply_globals(c);
    if (status == BW_OK)
        status = check_operands(c);
    return status;
}

const option_value *args_get(const cli *c, const char *name)
{
    static const option_value none = {0};
    const size_t index = option_index(c, name, strlen(name));
    return index < all_options(c) ? &c->values[index] : &none;
}

bool args_given(const cli *c, const char *name)
{
    return args_get(c, name)->given;
}

const char *args_text(const cli *c, const char *name)
{
    return args_get(c, name)->text;
}

uint64_t args_number(const cli *c, const char *name)
{
    return args_get(c, name)->number;
}

bw_status args_operand(cli *c, size_t index, const char *what, uint64_t max, uint64_t *value)
{
    const char *text = c->operands[index];
    if (!parse_integer(text, value))
        return cli_fail(c, BW_INVALID, "%s %s: a decimal number expected", what, text);
    if (*value > max)
        return cli_fail(c, BW_INVALID, "%s %s: at most %" PRIu64 " is legal", what, text, max);
    return BW_OK;
}
