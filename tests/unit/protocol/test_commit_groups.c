// SPDX-FileCopyrightText: The BatchWeave authors
// SPDX-License-Identifier: Apache-2.0
#include "intent_bases.h"

int main(void)
{
    return 0;
}
