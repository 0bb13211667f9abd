# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The library as its users have it: the exported functions of include/batchweave, by ctypes."""

import ctypes

TYPES = {"i": ctypes.c_int, "u": ctypes.c_uint32, "U": ctypes.c_uint64, "I": ctypes.c_int64, "z": ctypes.c_size_t,
         "p": ctypes.c_void_p, "s": ctypes.c_char_p, "-": None}
# Name: what it returns, then its arguments, as in TYPES.
SIGNATURES = {
    "bw_error_new": "p", "bw_error_message": "sp", "bw_status_name": "si", "bw_status_class": "ii",
    "bw_config_new": "p", "bw_config_set": "ipssp",
    "bw_runtime_open": "ippp",
    "bw_space_init": "ipspp", "bw_space_open": "ipspIpp", "bw_space_close": "-p", "bw_space_report": "ipspppp",
    "bw_producer_open": "ipspIpp", "bw_producer_resume": "ipppp", "bw_batch_new": "ipupp", "bw_batch_free": "-p",
    "bw_batch_item": "ipuuupip", "bw_producer_put": "ippUpzUIp", "bw_producer_event": "ipIpp",
    "bw_producer_flush": "ipuIp", "bw_producer_finish": "ipIp", "bw_producer_close": "ipIp",
    "bw_event_what": "ip", "bw_event_token": "Up", "bw_event_step": "Up", "bw_event_free": "-p",
    "bw_consumer_open": "ipsppIpp", "bw_consumer_next": "ipIpp", "bw_consumer_cursor": "ippp",
    "bw_consumer_pin": "ipsppzIp", "bw_consumer_close": "-p", "bw_cursor_free": "-p",
    "bw_item_view": "-ppp", "bw_item_step": "Up", "bw_item_release": "-p",
}
LINE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
WAIT, STATE, STORE, DATA, FATAL = 2, 3, 4, 5, 6  # bw_class


class Piece(ctypes.Structure):
    """struct iovec"""

    _fields_ = [("base", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class Refused(Exception):
    """A call that did not succeed: the status's name and class, and the message."""

    def __init__(self, call, name, kind, message):
        super().__init__(f"{call}: {name}: {message}")
        self.name, self.kind = name, kind


class Product:
    """One runtime of the library at `path`. One thread."""

    def __init__(self, path):
        library = ctypes.CDLL(path)
        self.functions = {}
        for name, signature in SIGNATURES.items():
            function = getattr(library, name)
            function.restype = TYPES[signature[0]]
            function.argtypes = [TYPES[letter] for letter in signature[1:]]
            self.functions[name] = function
        self.configs = {}
        self.error = self.plain("bw_error_new")
        self.runtime = self.handle("bw_runtime_open", self.config(log="error"))

    def plain(self, name, *arguments):
        return self.functions[name](*arguments)

    def call(self, name, *arguments):
        """A function that returns a status and takes an error last."""
        status = self.functions[name](*arguments, self.error)
        if status != 0:
            raise Refused(name, self.plain("bw_status_name", status).decode(), self.plain("bw_status_class", status),
                          self.plain("bw_error_message", self.error).decode())

    def handle(self, name, *arguments):
        """A call that gives a handle before the error."""
        out = ctypes.c_void_p()
        self.call(name, *arguments, ctypes.addressof(out))
        return out

    def config(self, **settings):
        key = tuple(sorted(settings.items()))
        if key not in self.configs:
            config = self.plain("bw_config_new")
            for name, value in settings.items():
                self.call("bw_config_set", config, name.encode(), str(value).encode())
            self.configs[key] = config
        return self.configs[key]

    def report(self, space, what, **settings):
        lines = []

        def take(_, line):
            lines.append(line)
            return 0

        self.call("bw_space_report", space, what.encode(), self.config(**settings), LINE(take), None)
        return lines
