# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Single requests to a server, signed as S3 and Azure want it; shares no code with the product."""

import base64
import datetime
import hashlib
import hmac
import ssl
import urllib.error
import urllib.parse
import urllib.request

AZURE_VERSION = "2021-12-02"


def send(method, url, body=b"", headers=None, ca_file=None):
    """(status, body) of any answer; OSError without one."""
    context = ssl.create_default_context(cafile=ca_file) if url.startswith("https:") else None
    request = urllib.request.Request(url, body or None, headers or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30, context=context) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.read()


def _mac(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def s3(endpoint, keys, method, path, body=b"", query="", ca_file=None):
    """SigV4, the body signed. `path` and `query` as they are sent; `query` sorted, each name with its `=`."""
    moment = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    headers = {"host": urllib.parse.urlsplit(endpoint).netloc, "x-amz-content-sha256": hashlib.sha256(body).hexdigest(),
               "x-amz-date": moment}
    names = ";".join(headers)
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    canonical = f"{method}\n{path}\n{query}\n{lines}\n{names}\n{headers['x-amz-content-sha256']}"
    scope = f"{moment[:8]}/us-east-1/s3/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = f"AWS4{keys[1]}".encode()
    for part in scope.split("/"):
        key = _mac(key, part)
    headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={keys[0]}/{scope}, SignedHeaders={names}, "
                                f"Signature={_mac(key, text).hex()}")
    return send(method, f"{endpoint}{path}" + (f"?{query}" if query else ""), body, headers, ca_file)


def _sas(key, lines, words):
    end = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    text = "\n".join(lines).replace("END", end)
    signature = base64.b64encode(_mac(base64.b64decode(key), text)).decode()
    return urllib.parse.urlencode({"sv": AZURE_VERSION, **words, "se": end, "sig": signature})


def account_sas(account, key):
    """For all there is in Azure's blob service, for an hour."""
    words = {"ss": "b", "srt": "sco", "sp": "rwdlac"}
    lines = [account, words["sp"], words["ss"], words["srt"], "", "END", "", "", AZURE_VERSION, "", ""]
    return _sas(key, lines, words)


def container_sas(account, key, container, permissions):
    """For one container, for an hour."""
    # Between the resource and the kind: identifier, addresses, protocol, version; behind it snapshot, encryption
    # scope and five headers of the answer.
    lines = [permissions, "", "END", f"/blob/{account}/{container}", "", "", "", AZURE_VERSION, "c", "", "", "", "",
             "", "", ""]
    return _sas(key, lines, {"sr": "c", "sp": permissions})
