// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
/** Points in time as services write them (ISO 8601). */
#ifndef HTTP_ISOTIME_H
#define HTTP_ISOTIME_H

#include <stdint.h>

/** 2009-10-12T17:50:30Z as unix ms; a fraction of a second is passed over, the zone may be Z,
 * +02:00 or +0200. 0 when it is anything else, or before 1970. */
int64_t iso_time_ms(const char *text);

#endif
