// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The command table as text for a terminal, as docs/cli.md, as manual pages, and for shells. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "command.h"

#include <stdio.h>

void help_overview(FILE *out);
void help_command(const command *what, FILE *out);
/** docs/cli.md, byte for byte. */
void help_markdown(FILE *out);
/** Type, default, and whether it must be given, as one phrase. */
void help_facts(const option *o, FILE *out);

/** manual.c: batchweave-COMMAND(1), or batchweave(1) with NULL, for man and mandoc. */
void manual_page(const command *what, FILE *out);
/** completion.c: a script for `bash`, `zsh` or `fish`; false for another shell. */
bool completion_print(const char *shell, FILE *out);

#endif
