# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""CRC-32C (Castagnoli) in plain Python.

Long inputs are cut into lanes of 256 bytes that advance side by side: one step of all lanes is four
`bytes.translate` calls and a few xors of big integers, all of which run at C speed. The lanes' checks are
then joined with the operator "advance over 256 zero bytes". That is some fifty times faster than a loop over bytes.
"""

POLYNOMIAL = 0x82F63B78
LANE = 256
LANES_AT_LEAST = 8


def _byte_table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (POLYNOMIAL if value & 1 else 0)
        table.append(value)
    return table


TABLE = _byte_table()
COLUMNS = [bytes((entry >> (8 * k)) & 0xFF for entry in TABLE) for k in range(4)]


def _advance_zeros(register, count):
    for _ in range(count):
        register = (register >> 8) ^ TABLE[register & 0xFF]
    return register


def _lane_tables():
    """Four tables: what each byte of a register becomes over one lane of zero bytes."""
    bits = [_advance_zeros(1 << k, LANE) for k in range(32)]
    tables = []
    for byte in range(4):
        table = []
        for value in range(256):
            total = 0
            for k in range(8):
                if value >> k & 1:
                    total ^= bits[8 * byte + k]
            table.append(total)
        tables.append(table)
    return tables


LANE_TABLES = _lane_tables()


def _simple(register, data):
    table = TABLE
    for byte in data:
        register = (register >> 8) ^ table[(register ^ byte) & 0xFF]
    return register


def _lanes(register, data, lanes):
    """The register after lanes x LANE bytes of data."""
    c0, c1, c2, c3 = COLUMNS
    load = int.from_bytes
    s0 = s1 = s2 = s3 = 0
    for k in range(LANE):
        index = (s0 ^ load(data[k::LANE], "little")).to_bytes(lanes, "little")
        s0 = load(index.translate(c0), "little") ^ s1
        s1 = load(index.translate(c1), "little") ^ s2
        s2 = load(index.translate(c2), "little") ^ s3
        s3 = load(index.translate(c3), "little")
    planes = [s.to_bytes(lanes, "little") for s in (s0, s1, s2, s3)]
    t0, t1, t2, t3 = LANE_TABLES
    for b0, b1, b2, b3 in zip(*planes):
        register = (t0[register & 0xFF] ^ t1[register >> 8 & 0xFF] ^ t2[register >> 16 & 0xFF]
                    ^ t3[register >> 24] ^ (b0 | b1 << 8 | b2 << 16 | b3 << 24))
    return register


def crc32c(data, crc=0):
    """The check of data; with crc, of what crc stood for and then data."""
    data = bytes(data)
    register = crc ^ 0xFFFFFFFF
    lanes = len(data) // LANE
    if lanes >= LANES_AT_LEAST:
        cut = lanes * LANE
        register = _lanes(register, data[:cut], lanes)
        data = data[cut:]
    return _simple(register, data) ^ 0xFFFFFFFF
