# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""Signatures that the test store checks: made here from the published rules, then bent.

    test_auth.py BATCHWEAVE_TESTSTORE
"""

import base64
import datetime
import hashlib
import hmac
import urllib.parse

import stores
from stores import ACCOUNT, Azure, Gcs, S3, StoreCase

KEY, SECRET, REGION, TOKEN = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "eu-test-1", "session=="
AZURE_KEY = base64.b64encode(b"the key of the account, 32 bytes").decode()


def quoted(text, safe=""):
    return urllib.parse.quote(text, safe=safe + "-._~")


def digest(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


class Signed(S3):
    """Signs each request as the AWS documents say; `bend` changes what is signed or sent."""

    def __init__(self, server, **bend):
        super().__init__(server)
        self.bend = bend

    def ask(self, method, path, body=None, headers=None, query=None):
        bend = self.bend
        body = body or b""
        now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=bend.get("skew", 0))
        when, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
        headers = {"host": f"127.0.0.1:{self.port}", "x-amz-date": when, "x-amz-security-token": TOKEN,
                   "x-amz-content-sha256": hashlib.sha256(body).hexdigest(),
                   **{name.lower(): value for name, value in (headers or {}).items()}, **bend.get("headers", {})}
        names = sorted(headers)
        pairs = sorted((quoted(name), quoted(str(value))) for name, value in (query or {}).items())
        canonical = "\n".join([
            method, quoted(path, "/"), "&".join(f"{name}={value}" for name, value in pairs),
            *(f"{name}:{' '.join(headers[name].split())}" for name in names), "", ";".join(names),
            headers["x-amz-content-sha256"]])
        scope = f"{day}/{bend.get('region', REGION)}/s3/aws4_request"
        text = f"AWS4-HMAC-SHA256\n{when}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        key = ("AWS4" + bend.get("secret", SECRET)).encode()
        for part in scope.split("/"):
            key = digest(key, part)
        signature = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        headers["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={bend.get('key', KEY)}/{scope},SignedHeaders={';'.join(names)},"
            f"Signature={signature}")
        headers.update(bend.get("after", {}))
        return super().ask(method, path, bend.get("body", body), headers, query)


class SigV4(StoreCase):

    options = ("--access-key", KEY, "--secret-key", SECRET, "--region", REGION, "--session-token", TOKEN)

    def put(self, **bend):
        client = Signed(self.server, **bend)
        answer = client.put("k", b"body", create=True)
        client.close()
        return answer

    def test_signed_requests_pass(self):
        client = Signed(self.server)
        for key in ["k", "a b", "ü/+&=*'()", "x//y", "per%25cent"]:
            self.expect(client.put(key, b"body of it", create=True), 200)
            self.assertEqual(client.get(key, span="0-3").body, b"body")
            self.expect(client.head(key), 200)
        self.assertEqual(len(client.list(prefix="", **{"start-after": "", "a": "1", "a-b": "x y/z", "A": ""})[1]), 5)
        self.expect(client.delete("k"), 204)
        self.expect(client.put("spaces", b"x", headers={"x-amz-meta-a": "  two   spaces "}), 200)
        client.close()

    def test_unsigned_payload(self):
        self.expect(self.put(headers={"x-amz-content-sha256": "UNSIGNED-PAYLOAD"}), 200)

    def test_bent_requests_do_not(self):
        for bend, wanted in [
                ({"secret": "other"}, (403, "SignatureDoesNotMatch")),
                ({"key": "AKIDOTHER"}, (403, "InvalidAccessKeyId")),
                ({"region": "us-east-1"}, (400, "AuthorizationHeaderMalformed")),
                ({"skew": 1000}, (403, "RequestTimeTooSkewed")),
                ({"skew": -1000}, (403, "RequestTimeTooSkewed")),
                ({"headers": {"x-amz-security-token": "old"}}, (400, "ExpiredToken")),
                ({"body": b"bodX"}, (400, "XAmzContentSHA256Mismatch")),
                ({"after": {"x-amz-security-token": TOKEN + "=", "if-none-match": "*"}}, (400, "ExpiredToken")),
                ({"after": {"if-none-match": "**"}}, (403, "SignatureDoesNotMatch")),
                ({"after": {"authorization": "Basic x"}}, (400, "AuthorizationHeaderMalformed"))]:
            self.expect(self.put(**bend), wanted)
        self.assertEqual(self.server.journal(), [])

    def test_none_at_all(self):
        client = S3(self.server)
        self.expect(client.put("k", b"x"), (403, "AccessDenied"))
        self.expect(client.head("k"), 403)
        client.close()

    def test_the_servers_clock_decides(self):
        self.server.control(clock_skew_ms=2000000)
        self.expect(self.put(), (403, "RequestTimeTooSkewed"))
        self.expect(self.put(skew=2000), 200)


class SharedKey(Azure):

    def __init__(self, server, **bend):
        super().__init__(server)
        self.bend = bend

    def ask(self, method, path, body=None, headers=None, query=None):
        now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=self.bend.get("skew", 0))
        headers = {"x-ms-date": now.strftime("%a, %d %b %Y %H:%M:%S GMT"), **stores.VERSION,
                   **{name.lower(): value for name, value in (headers or {}).items()}}
        length = str(len(body)) if body else ""
        standard = ["content-encoding", "content-language", "", "content-md5", "content-type", "date",
                    "if-modified-since", "if-match", "if-none-match", "if-unmodified-since", "range"]
        lines = [method] + [headers.get(name, length if name == "" else "") for name in standard]
        lines += [f"{name}:{headers[name]}" for name in sorted(headers) if name.startswith("x-ms-")]
        full = f"/{ACCOUNT}" + quoted(path, "/")
        lines += [f"/{ACCOUNT}{full}" + "".join(f"\n{name}:{value}" for name, value in sorted((query or {}).items()))]
        key = base64.b64decode(self.bend.get("key", AZURE_KEY))
        signature = base64.b64encode(hmac.new(key, "\n".join(lines).encode(), hashlib.sha256).digest()).decode()
        headers["authorization"] = f"SharedKey {self.bend.get('account', ACCOUNT)}:{signature}"
        return super().ask(method, path, body, headers, query)


class AzureKeys(StoreCase):

    options = ("--account-key", AZURE_KEY, "--bearer", "a-token")

    def test_signed_requests_pass(self):
        client = SharedKey(self.server)
        for key in ["k", "a b", "ü/+&=", "x//y"]:
            self.expect(client.put(key, b"body of it", create=True), 201)
            self.assertEqual(client.get(key, span="0-3").body, b"body")
        self.expect(client.put("empty", b"", create=True), 201)
        self.assertEqual(len(client.list(most=10)[1]), 5)
        client.close()

    def test_bent_requests_do_not(self):
        other = base64.b64encode(b"x" * 32).decode()
        for bend, wanted in [({"key": other}, (403, "AuthenticationFailed")),
                             ({"skew": 1000}, (403, "AuthenticationFailed")),
                             ({"account": "other"}, (400, "InvalidAuthenticationInfo"))]:
            client = SharedKey(self.server, **bend)
            self.expect(client.put("k", b"x", create=True), wanted)
            client.close()
        client = Azure(self.server)
        self.expect(client.put("k", b"x"), (401, "NoAuthenticationInformation"))
        client.close()
        self.assertEqual(self.server.journal(), [])

    def test_bearer_tokens(self):
        for dialect in [Gcs, Azure]:
            client = dialect(self.server)
            self.expect(client.put("k", b"x", headers={"Authorization": "Bearer a-token"}), client.CREATED)
            answer = client.put("k", b"x", headers={"Authorization": "Bearer another"})
            self.assertEqual(answer.status, 401 if dialect is Gcs else 403)
            client.close()
        client = Gcs(self.server)
        self.expect(client.put("k", b"x"), 401)
        client.close()


if __name__ == "__main__":
    stores.main()
