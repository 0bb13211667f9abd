/* SPDX-FileCopyrightText: The BatchWeave authors
   SPDX-License-Identifier: Apache-2.0 */
/*
 * model/run compiles each configuration once, with -DSWITCHES: then the rules named by the bits of the
 * environment variable REMOVED are off, the number of a rule being its place among those of its model.
 */
#ifdef SWITCHES
c_decl {
    \#include <stdlib.h>
    static unsigned long long removed;
}
#define OFF(k) c_expr { ((removed >> k) & 1) }
#define READ_SWITCHES c_code { removed = getenv("REMOVED") ? strtoull(getenv("REMOVED"), NULL, 0) : 0; }
#else
#define OFF(k) 0
#define READ_SWITCHES skip
#endif
