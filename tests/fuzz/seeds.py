#!/usr/bin/env python3
# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Writes a first corpus for every fuzz target into a folder: the golden objects, and texts by hand.

    python3 tests/fuzz/seeds.py FOLDER
"""

import io
import pathlib
import struct
import sys
import tarfile

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden"

OBJECTS = {
    "genesis": ["genesis", "genesis-plain"],
    "manifest": ["manifest-first", "manifest-full"],
    "page": ["page"],
    "segment": ["segment-block", "segment-index"],
    "small": ["marker", "hint", "state"],
    "cursor": ["cursor", "cursor-skips", "cursor-tags", "cursor-way"],
}

KEYS = """genesis
hint
manifest/00000000000000000011.manifest
retired/00000000000000000003
segment/00000000000000000000-00000000000000000009-000102030405060708090a0b0c0d0e0f
page/00000000000000000007-0123456789abcdef
probe/0123456789abcdef
tmp/x
data/00/p/0000000001-00000000000000000001-0123456789abcdef.000000
data/00/../0000000001-00000000000000000001-0123456789abcdef.state
manifest/99999999999999999999.manifest
../../etc/passwd"""

URLS = """file:///tmp/x%20y
file://localhost/tmp
file:/tmp
s3://bucket/run
/tmp
relative/path:with
file://host/tmp
file:///%00
file:///a?b
file:///a#b
file:x
FILE:///tmp/%2e
"""

CONFIGS = [
    "dp=4\ncp=2\npart_size=64MiB\nlayout=headtail\nschema=x\nmax_lag=9\nmax_bytes=1TiB\n",
    "policy=fixed:100\nkind=samples\nmedia_type=x/y\nreopen=true\ncommit_timeout=60s\n",
    "d=1\nc=1\nstart=17\nverify=false\nprefetch=8\n",
    "rank=0\nworld=8\ntp=2\npp=2\nstart=latest\n",
    "start=earliest\nlog=debug\nthreads=64\nmemory=0\nmode=write\ndurable=false\nretry_limit=1ms\n",
    "first=0\nlast=5\nkey=genesis\nprefix=data\ndeep=true\napply=true\nblocks_max=1\n",
    "policy=naive\ndp=99999999999999999999\nnobody=1\nthreads=0\nmemory=99999999TiB\nc=2\n",
]

HEADS = [
    "HTTP/2 200\r\nx-amz-checksum-crc32c: AAAAAA==\r\nContent-MD5: 1B2M2Y8AsgTpgAmY7PhCfg==\r\n\r\n",
    "HTTP/1.1 200 OK\r\nx-goog-hash: crc32c=AAAAAA==,md5=1B2M2Y8AsgTpgAmY7PhCfg==\r\nx-goog-hash: md5=x\r\n"
    "x-amz-checksum-crc32c: AAAAAA==-3\r\nx-amz-checksum-crc32c: ?\r\nContent-MD5: AAAAAA==\r\n\r\n",
    "--batch\r\nContent-Type: application/http\r\nContent-ID: 0\r\n\r\nHTTP/1.1 202 Accepted\r\n\r\nbody\r\n"
    "--batch\r\n\r\nHTTP/1.1 404 Not Found\r\nx-ms-error-code: BlobNotFound\r\n\r\n\r\n--batch--\r\n",
    "\r\n--b\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n--bc\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 206 Partial Content\r\nContent-Length: 10\r\n"
    "Content-Range: bytes 5-14/100\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nRetry-After: 3\r\n"
    "Last-Modified: Mon, 07 Nov 1994 08:49:37 GMT\r\nx-amz-request-id: A1 B2\r\n\r\n",
    "HTTP/1.1 416 x\r\ncontent-range: bytes */100\r\nx-ms-error-code: BlobAlreadyExists\r\n"
    "x-amz-bucket-region: eu-west-1\r\nTransfer-Encoding: chunked\r\nx-ms-request-id: 1\r\n\r\n",
    "HTTP/2 999\r\nContent-Range: bytes 0-9/*\r\nContent-Length: 99999999999999999999\r\n"
    "Content-Range: items 0-9/10\r\nDate: yesterday\r\nOdd",
    "HTTP/1.1 abc\nDate: Sun, 06 Xyz 1994 08:49:37 GMT\nDate: Sun, 06 Nov 0994 08:49:37 GMT\n"
    "Date: Sun, 06 Nov 1994 08:49:3x GMT\nContent-Range: bytes 9-\nContent-Range: bytes 9-10\n",
]

PROFILES = [
    "[default]\naws_access_key_id = A\r\naws_secret_access_key=b=c\n# x\n; y\n[ two ]\nregion=z\n",
    "[profile two]\nregion = eu\ns3 =\n  style = path\nodd\n[profile\tdefault]\n[default]\na=\n[two]\nb=1\n"
    "[open\nc=1",
]

KEY_DOCUMENTS = [
    'J{"Code": "Success", "Odd": [1, {"a": null}], "AccessKeyId": "A\\u0042", "SecretAccessKey": "k/+",'
    '"Token": "t==", "Expiration": "2030-01-31T12:00:00.5+02:30"}\n',
    'J{"AccessKeyId":"A","SecretAccessKey":"k"}', 'J{"Code":"Failed"}', 'J{"AccessKeyId":1,"Token":"a b"}', 'J{}',
    'J{"AccessKeyId":"A","SecretAccessKey":"k","Expiration":"2001-01-31T12:00:00-0130"}', 'J{"AccessKeyId":"A\\u0000"}',
    'J{"AccessKeyId":"A b","SecretAccessKey":"k","Expiration":"soon"}',
    "Wa \"b \\\" c\" 'd\\'e f\\ g", "W", "Wa 'b", "Wa b c d e f g h i", "T2009-10-12T17:50:30Z", "T2009-10-12T17:5:30Z",
    "T1969-01-01T00:00:00+01", "T2009-10-12T17:50:30+0a00",
]

TOKENS = [
    'T{"access_token":"a.b-c","expires_in":3599,"scope":"s","token_type":"Bearer"}',
    'T{"access_token":"t","expires_in":"86399","expires_on":"4070908800"}', 'T{"access_token":"t","expires_on":1}',
    'T{"accessToken":"t","expireTime":"2099-01-01T00:00:00Z"}', 'T{"access_token":"a b"}', 'T{"access_token":""}',
    'T{"access_token":"t"', 'T{"access_token":"\\u0000"}', "T{}",
    'T{"a":{"b":{"c":{"d":{"e":1}}}},"n":null,"l":[1],"x/y":true}',
    'E{"error":"invalid_grant","error_description":"Invalid JWT Signature.\\r\\nTrace"}',
    'E{"error":{"code":403,"message":"you sent planted-assertion","status":"PERMISSION_DENIED"}}', "E<html>", "E",
    'C{"type":"service_account","client_email":"a@b","private_key_id":"k","private_key":"p","token_uri":"https://t/"}',
    'C{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"r","universe_domain":"u"}',
    'C{"type":"external_account","audience":"a","subject_token_type":"s","token_url":"https://t/","credential_source":'
    '{"url":"https://u/","headers":{"Metadata":"True","b":"c"},'
    '"format":{"type":"json","subject_token_field_name":"f"}},'
    '"service_account_impersonation_url":"https://i/x:y","service_account_impersonation":{"token_lifetime_seconds":1}}',
    'C{"credential_source":{"file":"/a b","executable":{"command":"/c d"},"environment_id":"aws1"}}',
    'C{"credential_source":{"headers":{"a":"1","b":"2","c":"3","d":"4","e":"5"}}}', 'C{"client_email":"a\\"b"}',
    'C{"credential_source":{"headers":{"a b":"1"}}}', 'C{"credential_source":{"headers":{"a":"1\\r\\n"}}}', "C[]",
]

ENTRY = "<Contents><Key>%s</Key><LastModified>2009-10-12T17:50:30.000Z</LastModified><Size>%s</Size></Contents>"

S3_XML = [
    '<?xml version="1.0"?><ListBucketResult xmlns="x"><IsTruncated>true</IsTruncated>' + ENTRY % ("run/a%2fb", "12")
    + ENTRY % ("run/A&amp;", "3") + "<EncodingType>url</EncodingType></ListBucketResult>",
    "<ListBucketResult>" + ENTRY % ("elsewhere", "1") + "</ListBucketResult>",
    "<ListBucketResult>" + ENTRY % ("run/x", "99999999999999999999") + "</ListBucketResult>",
    "<ListBucketResult><Contents/></ListBucketResult>",
    "<Error><Code>InvalidRange</Code><Message>not\n\u00e9</Message><Region>r</Region>"
    "<ActualObjectSize>10</ActualObjectSize></Error>",
    "<DeleteResult><Deleted><Key>a</Key></Deleted><Error><Key>b</Key><Code>AccessDenied</Code></Error>"
    "<Error><Code>NoSuchKey</Code></Error></DeleteResult>",
    '<!DOCTYPE a [<!ENTITY e "eeee">]><a>&e;</a>',
    "<a><b><c><d><e><f><g><h><i/></h></g></f></e></d></c></b></a>", "<a>" + "x" * 9000 + "</a>",
    "<" + "n" * 300 + "/>",
    "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>run/%00</Key></Contents></ListBucketResult>",
]

BLOB = ("<Blob><Name>%s</Name><Properties><Content-Length>%s</Content-Length>"
        "<Last-Modified>Sun, 06 Nov 1994 08:49:37 GMT</Last-Modified></Properties></Blob>")

AZURE_XML = ["<EnumerationResults><Blobs>%s</Blobs><NextMarker>%s</NextMarker></EnumerationResults>" % row for row in (
    ("".join(BLOB % ("run/" + name, "7") for name in ("a", "b", "B", "c", "d", "e")), "m 1"), ("", ""),
    (BLOB % ("elsewhere", "1"), ""), (BLOB % ("run/x", "-1"), ""), (BLOB % ("run/x", ""), ""), ("<Blob/>", "m"),
    (BLOB % ("run/x", "99999999999999999999"), ""), ("", "x" * 1900))] + [
    "<Error><Code>ServerBusy</Code><Message>\u00e9</Message></Error>", "<EnumerationResults>"]

GCS_JSON = [
    '{"items":[%s],"nextPageToken":"t"}' % ",".join(
        '{"name":"run/%s","size":"12","updated":"2009-10-12T17:50:30.123456Z"}' % name for name in "abBcdef"),
    "{}", "[]", '{"items":{}}', '{"items":[7]}', '{"items":[{"name":"elsewhere","size":"1"}]}',
    '{"items":[{"name":"run/x","size":"99999999999999999999"}]}',
    '{"items":[{"name":"run/x","size":"","updated":"2009"}]}',
    '{"items":[{"name":"run/x","size":"1","updated":"2009-1x-12T17:50:30.1234Z"}]}',
    '{"error":{"code":412,"message":"\\u00e9","errors":[{"reason":"conditionNotMet"}]}}', "No such object: x",
]

TAGS = ["all", "0,5-9,12-", "7", "9-5", "1,1", "1,x", "1-2-3", "-", "", "99999999999999999999", ",".join("13579")]

RESUMES = [
    '{"input":"%s","fingerprint":"000102030405060708090a0b0c0d0e0f","document":%d,"at":%d,"base":%d}' % row
    for row in [("text", 3, 18446744073709551615, 0), ("frames", 0, 0, 10), ("exec", 0, 0, 7)]
]


RESUMES += ['{"input":"%s","fingerprint":"000102030405060708090a0b0c0d0e0f","epoch":1,"document":2,"at":3,"index":4,'
            '"taken":5,"skipped":6,"base":7}' % name for name in ("jsonl", "tar", "tokens")]


def samples(*rows):
    out = struct.pack("<I", len(rows))
    for fields in rows:
        out += struct.pack("<H", len(fields))
        for key, value in fields:
            out += struct.pack("<H", len(key)) + key + struct.pack("<I", len(value)) + value
    return out


def frames(*bodies):
    return b"".join(struct.pack("<I", len(body)) + body for body in bodies)


def tensors(header, data=b""):
    return struct.pack("<Q", len(header)) + header + data


TENSORS = [
    tensors(b"{}"),
    tensors(b'{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}   ', b"ab"),
    tensors(b'{"__metadata__":{"k":"v","\\u00e4":"\\n"},"a":{"dtype":"F64","shape":[1,1],"data_offsets":[0,8]},'
            b'"\\ud83d\\ude00":{"shape":[0,4],"dtype":"BF16","data_offsets":[8,8]},'
            b'"b":{"dtype":"F4","shape":[4],"data_offsets":[8,10]}}', bytes(10)),
    tensors(b'{ "b" : { "data_offsets" : [ 1 , 2 ] , "dtype" : "BOOL" , "shape" : [ ] } ,\n'
            b'"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}}', b"\0\1"),
    tensors(b'{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"\\u0061":{"dtype":"U8","shape":[1],'
            b'"data_offsets":[1,2]}}', b"ab"),
    tensors(b'{"__metadata__":{"a":"1","\\u0061":"2"}}'),
    tensors(b'{"a":{"dtype":"U64","shape":[18446744073709551615],"data_offsets":[0,8]}}', bytes(8)),
]


def tar(format, *members, end=1024):
    data = b""
    with io.BytesIO() as out:
        with tarfile.open(fileobj=out, mode="w", format=format) as archive:
            for name, content, kind in members:
                info = tarfile.TarInfo(name)
                info.size, info.type = len(content), kind
                archive.addfile(info, io.BytesIO(content))
        data = out.getvalue()
    return b"\1\xff" + data.rstrip(b"\0").ljust(-(-len(data.rstrip(b"\0")) // 512) * 512, b"\0") + bytes(end)


def tars():
    file, folder, link = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE
    yield tar(tarfile.USTAR_FORMAT, ("a.x", b"1", file), ("a.y", b"", file), ("b.x", b"22", file))
    yield tar(tarfile.PAX_FORMAT, ("ä/" + "n" * 120 + ".x", b"1", file), ("d", b"", folder))
    yield tar(tarfile.GNU_FORMAT, ("n" * 120 + ".x", b"1", file))
    yield tar(tarfile.USTAR_FORMAT, ("../a.x", b"1", file), ("a", b"", file), ("a.x", b"", link), ("b.x", b"2", file))
    yield tar(tarfile.USTAR_FORMAT, ("a.x", b"1", file), ("a.x", b"2", file), ("a.y", b"2", file), ("b.x", b"2", file))
    yield tar(tarfile.USTAR_FORMAT, ("a.x", b"1" * 600, file), ("b.x", b"2", file), end=0)


LINES = [b"\0\0\xff" + text for text in (
    b'\xef\xbb\xbf{"a":1}\r\n\n [1,2.5e-3,"\\ud83d\\ude00\\n"]\n{"a":\n"\0"\n\xff\ntrue',
    b'"\xc3\xa4"\n[[[[]]]]\n{"a":{"b":null}}\n-0\n01\n1 2\n', b"")] + [
    b"\3\1\x01" + b'1\n2\n"xxxxxxxxxxxxxxxxxxxxxxxx"\n3\n4\n5\n']


def index(code, size, lengths, starts=None, bin_size=None):
    ends = [0]
    for length in lengths:
        ends.append(ends[-1] + length * size)
    starts = list(range(len(lengths) + 1)) if starts is None else starts
    count = len(lengths)
    return (struct.pack("<H", ends[-1] if bin_size is None else bin_size) + b"MMIDIDX\0\0"
            + struct.pack("<QBQQ", 1, code, count, len(starts)) + struct.pack(f"<{count}i", *lengths)
            + struct.pack(f"<{count}q", *ends[:-1]) + struct.pack(f"<{len(starts)}q", *starts))


INDEXES = [index(8, 2, [3, 0, 4]), index(4, 4, [1, 2, 3], [0, 2, 2, 3]), index(5, 8, []),
           index(1, 1, [5, 5], bin_size=9), index(8, 2, [3, 0, 4], [0, 2, 1, 3]), index(7, 4, [1])]


def cut(part):
    """The slices and the footer of a part: each begins at a multiple of 64 with its magic."""
    slices, footers = [], []
    for at in range(0, len(part), 64):
        if part[at:at + 4] == b"BWSL":
            size, = struct.unpack_from("<Q", part, at + 24)
            slices.append(part[at:at + size])
        elif part[at:at + 4] == b"BWTF":
            size, = struct.unpack_from("<Q", part, at + 8)
            footers.append(part[at:at + size + 20])
    return slices, footers


def seeds():
    golden = lambda name: (GOLDEN / (name + ".bin")).read_bytes()
    for target, names in OBJECTS.items():
        for name in names:
            data = golden(name)
            yield target, data
            # The replaced CRC chooses 512 slices, those of the golden namespace.
            yield target, data[:-4] + bytes(4)
    yield "block", b"\0" + golden("segment-block")[16 + 40:-4]
    for name in ["tgb-raw.000000", "tgb-raw.000001", "tgb-samples.000000", "tgb-zstd.000000"]:
        slices, footers = cut(golden(name))
        for data in slices:
            yield "frame", data
        for data in footers:
            yield "footer", data
    for line in KEYS.split("\n"):
        yield "key", line.encode()
    for line in URLS.split("\n"):
        yield "url", line.encode()
    for text in CONFIGS:
        yield "config", text.encode()
    for text in TAGS:
        yield "cursor", text.encode()
    for text in HEADS:
        yield "head", text.encode()
    for text in PROFILES:
        yield "profile", text.encode()
    for text in KEY_DOCUMENTS:
        yield "keys", text.encode()
    for text in TOKENS:
        yield "tokens", text.encode()
    for text in AZURE_XML:
        yield "azurexml", b"\x80" + text.encode()
    for text in GCS_JSON:
        yield "gcsjson", text.encode()
    for text in S3_XML:
        yield "s3xml", b"\x80" + text.encode()
    for text in RESUMES:
        yield "resume", text.encode()
    for data in tars():
        yield "tar", data
    for data in LINES:
        yield "jsonlines", data
    for data in INDEXES:
        yield "index", data
    for data in TENSORS:
        yield "safetensors", data
    yield "samples", samples()
    yield "samples", samples([(b"text", b"hello"), (b"", b"")], [])
    for head in [b"\0\0\0\x10", b"\1\0\1\x10", b"\3\2\0\xff", b"\0\0\1\0"]:
        yield "frames", head + frames(b"one", b"", b"three" * 9, b"four")
    yield "frames", b"\0\0\0\x10" + frames(b"one") + b"\xff\0\0"
    yield "frames", b"\0\0\0\x10" + frames(b"one") + b"textfile"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    counts = {}
    for target, data in seeds():
        folder = pathlib.Path(sys.argv[1]) / target
        folder.mkdir(parents=True, exist_ok=True)
        counts[target] = counts.get(target, 0) + 1
        (folder / f"seed-{counts[target]:02}").write_bytes(data)


if __name__ == "__main__":
    main()
