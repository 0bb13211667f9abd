#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Line coverage of each decoder by the corpus of its own target (gcc, -Db_coverage=true, -O0).

    coverage.py BUILD [--lines]

A decoder is the functions that read untrusted bytes, named below. Each must reach 90 % of its
lines; `--lines` prints those it does not. Ends with a line `N passed, N failed`.
"""

import argparse
import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PERCENT_MIN = 90

OBJECT = {"codec/object.c": "object_open|kind_of"}
WIRE = {"codec/wire.c": "wire_(open|u8|u16|u32|u64|bytes|view|text8|text32|zero|left|done)|take"}
BLOCK = {"codec/block.c": ".*", "codec/shape.c": ".*", "codec/dedupe.c": ".*",
         "codec/block_encode.c": ".*"}
ENTRIES = "producer_entry_read|producer_entries_(read|find)"

# target: source file: the functions that make up the decoder
DECODERS = {
    "azurexml": {"store_azure/azure_list.c": "on_error|on_page|take_.*|below|parse_number|azure_page_.*"},
    "block": BLOCK,
    "config": {"api/config.c": "parse_.*|units_of|bw_config_set|find|config_.*",
               "api/options.c": ".*", "protocol/cadence.c": "cadence_parse|parse_.*|after|set_dac"},
    "cursor": {"codec/cursor.c": ".*", "base/hash.c": "hex_.*|digit"},
    "footer": {"codec/footer.c": "read_.*|footer_.*", **OBJECT},
    "frame": {"codec/frame.c": "decode_item|frame_decode_head|is_zero|frame_verify",
              "codec/packing.c": "packed_lengths_fit|window_bytes|is_frame|unpack_item|frame_unpack.*"},
    "frames": {"input/framestream.c": "next_length|is_mine|is_text|bad_frame|too_long|ends_within|"
                                      "skip_frame|read_frame|framestream_(skip|next)",
               "input/bytestream.c": "take|bytestream_(read|skip)"},
    "gcsjson": {"store_gcs/gcs_json.c": "load|text_of|gcs_(error|page)_parse|take_item|parse_.*|two"},
    "genesis": {"codec/genesis.c": "genesis_decode|genesis_check|layout_is_known", **OBJECT},
    "head": {"http/http_head.c": ".*", "http/http_parts.c": ".*"},
    "index": {"input/tokenfile.c": "read_head|entry_of|check_.*|last_at_most|document_of|sequence_token|"
                                   "tokenfile_positions"},
    "jsonlines": {"input/jsonlines.c": "pass_mark|take_line|is_blank|check_line|next_(line|record)",
                  "base/jsontext.c": "jsontext_(open|fail|peek|take|done|string|value)|scalar|number|digits|word|"
                                     "open_value|close_values|member_name|in_object|unicode_escape|"
                                     "escape_length|hex_.*",
                  "input/bytestream.c": "bytestream_(peek|until)"},
    "key": {"codec/key.c": ".*"},
    "keys": {"store_s3/s3_keys.c": ".*", "store_s3/s3_words.c": ".*", "http/isotime.c": ".*"},
    "manifest": {"codec/manifest.c": "read_.*|manifest_.*", "codec/group.c": "read_.*|groups_read",
                 "codec/entry.c": ENTRIES, "codec/segment.c": "segment_ref_.*", "codec/fold.c": ".*",
                 **BLOCK, **OBJECT, **WIRE},
    "page": {"codec/entry.c": f"{ENTRIES}|page_.*", **OBJECT},
    "profile": {"store_s3/s3_profile.c": ".*"},
    "resume": {"input/resume_state.c": "scan_.*|resume_decode"},
    "s3xml": {"store_s3/s3_xml.c": "(?!put_escaped|s3_delete_body).*", "http/xml.c": ".*"},
    "safetensors": {"payload/safetensors.c": ".*", "payload/tensor_type.c": "tensor_(size|type_find)",
                    "base/jsontext.c": "jsontext_(take|string|u64|peek)|unicode_escape|escape_length|hex_.*|"
                                       "jsonstring_.*"},
    "samples": {"payload/samples.c": "read_.*|samples_(open|next|next_field)|load"},
    "segment": {"codec/segment.c": ".*", **BLOCK, **OBJECT},
    "small": {"codec/small.c": ".*", **OBJECT},
    "tar": {"input/tarheader.c": ".*", "input/tarmember.c": ".*",
            "input/tarsamples.c": "check_member|is_text|has_odd_segment|find_sample|add_member|gather|next|"
                                  "is_given_up|give_up_sample"},
    "tokens": {"store_net/net_token.c": "shows_part|copy_line|number_of|is_one_of|on_member|refuse|take_token|"
                                        "net_token_parse",
               "store_net/net_keys.c": "net_keys_set_.*|net_is_plain", "http/jsonmembers.c": ".*",
               "store_gcs/gcs_credentials.c": ".*"},
    "url": {"store/url.c": ".*"},
}


def measured(gcda, sources):
    """Lines of the wanted functions that the last run reached: {(file, line): count}."""
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["gcov", "--json-format", "--object-directory", str(gcda.parent), str(gcda)],
                       cwd=scratch, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        reports = [json.load(gzip.open(path)) for path in pathlib.Path(scratch).glob("*.gz")]
    lines = {}
    for report in reports:
        for file in report["files"]:
            for source, pattern in sources.items():
                if file["file"].endswith("src/" + source):
                    for line in file["lines"]:
                        if re.fullmatch(pattern, line.get("function_name", "")):
                            place = (source, line["line_number"])
                            lines[place] = lines.get(place, 0) + line["count"]
    return lines


def measure(build, target, sources):
    objects = [path for path in (build / "src").rglob("*.gcno")]
    for path in objects:
        path.with_suffix(".gcda").unlink(missing_ok=True)
    process = subprocess.run([str(build / "tests" / "fuzz" / f"corpus_{target}"),
                              str(HERE / "corpus" / target)], check=False, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if process.returncode != 0:
        print(process.stdout[-3000:])
        return {}
    lines = {}
    for path in objects:
        gcda = path.with_suffix(".gcda")
        if gcda.exists() and any(path.name.startswith(pathlib.Path(source).name) and
                                 f"bw_{source.split('/', maxsplit=1)[0]}." in str(path.parent)
                                 for source in sources):
            lines.update(measured(gcda, sources))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--lines", action="store_true")
    parser.add_argument("--only")
    arguments = parser.parse_args()
    passed = failed = 0
    for path in sorted((HERE / "corpus").iterdir()):
        if path.name not in DECODERS:
            print(f"{path.name}: a corpus without a decoder in the table")
            failed += 1
    for target, sources in DECODERS.items():
        if arguments.only not in (None, target):
            continue
        lines = measure(arguments.build.resolve(), target, sources)
        reached = sum(count > 0 for count in lines.values())
        percent = 100 * reached / len(lines) if lines else 0
        inputs = len(list((HERE / "corpus" / target).iterdir()))
        good = percent >= PERCENT_MIN
        passed, failed = passed + good, failed + (not good)
        print(f"{target:10} {percent:5.1f} % of {len(lines):4} lines by {inputs:4} inputs"
              f"{'' if good else '  FAILED'}")
        if arguments.lines:
            for (source, number), count in sorted(lines.items()):
                if count == 0:
                    text = (ROOT / "src" / source).read_text(encoding="utf-8").splitlines()
                    print(f"    {source}:{number}: {text[number - 1].strip()}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
