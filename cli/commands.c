// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include <string.h>

const command *const commands[] = {
    &command_init,  &command_produce, &command_consume, &command_info,    &command_inspect,
    &command_get,   &command_tail,    &command_verify,  &command_seal,    &command_forget,
    &command_group, &command_pin,     &command_release, &command_gc,      &command_doctor,
    &command_bench, &command_errors,  &command_help,    &command_version,
};
const size_t command_count = COUNT_OF(commands);

const option global_options[] = {
    {.name = "output",
     .value = "text|json",
     .type = OPTION_TEXT,
     .preset = "text",
     .help = "also -o; json: documented objects, one a line, for programs"},
    {.name = "set",
     .value = "NAME=VALUE",
     .type = OPTION_TEXT,
     .help = "any setting of the library (batchweave help settings); repeatable"},
    {.name = "timeout",
     .value = "TIME",
     .type = OPTION_TIME,
     .help =
         "give up when nothing moves for so long: seconds, or 500ms, 2s; none: wait, saying why"},
    {.name = "progress",
     .type = OPTION_SWITCH,
     .help = "rate and time left on stderr, also when it is no terminal"},
    {.name = "help", .type = OPTION_SWITCH, .help = "also -h; this text"},
};
const size_t global_option_count = COUNT_OF(global_options);

const exit_row exit_table[] = {
    {"0", "OK", "done"},
    {"1", "USAGE", "the command or its arguments are wrong"},
    {"2", "WAIT", "nothing is wrong, but it did not come in time"},
    {"3", "STATE", "the namespace says no"},
    {"4", "STORE", "the store, or a child process, failed or refused"},
    {"5", "DATA", "stored bytes or input are not what they must be; verify found faults"},
    {"6", "FATAL", "fenced, out of memory, or an internal rule was broken"},
    {"128+n", "", "ended by signal n (130: interrupted, 143: terminated), closed cleanly"},
};
const size_t exit_count = COUNT_OF(exit_table);

int exit_of(bw_status status)
{
    switch (bw_status_class(status)) {
    case BW_CLASS_OK:
        return EXIT_OK;
    case BW_CLASS_USAGE:
        return EXIT_USAGE;
    case BW_CLASS_WAIT:
        return EXIT_WAIT;
    case BW_CLASS_STATE:
        return EXIT_STATE;
    case BW_CLASS_STORE:
        return EXIT_STORE;
    case BW_CLASS_DATA:
        return EXIT_DATA;
    case BW_CLASS_FATAL:
        return EXIT_FATAL;
    }
    return EXIT_FATAL;
}

const command *command_find(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}
