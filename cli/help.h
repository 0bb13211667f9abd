// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** The command table as text for a terminal and as docs/cli.md. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "command.h"

#include <stdio.h>

void help_overview(FILE *out);
void help_command(const command *what, FILE *out);
/** docs/cli.md, byte for byte. */
void help_markdown(FILE *out);

#endif
