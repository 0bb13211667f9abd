# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""E10: processor time that a request costs the client, beside a bare loop over libcurl, obstore and boto3."""

from typing import Any, Iterator

from compare.context import Context
from compare.experiment import Bar, Budget, Cell, Experiment, Figure, Plot, Series, Side
from compare.experiments import benchrows
from compare.results import Results, Spread

OURS, BOTO3, OBSTORE = "ours", "boto3", "obstore"
ROWS = {"objects.get": "get_us", "objects.put": "put_us", "objects.put_hashed": "put_hashed_us",
        "objects.get.bare": "bare_get_us", "objects.put.bare": "bare_put_us"}
REQUESTS = {OBSTORE: (4000, 400), BOTO3: (2000, 100)}


def cells(context: Context) -> Iterator[Cell]:
    own = benchrows.side(context, OURS, "objects", ROWS)
    own.settings = {**own.settings, "bytes": 102_400, "in flight": 16, "threads": 1, "store": "a test store of its own"}
    with context.teststore() as store:
        peers = [Side(name, [context.python("peers"), context.peer("httpclients")],
                      settings={"client": name, "port": store.port, "requests": context.pick(*counts)},
                      why="16 requests at once, as ours; its retries off") for name, counts in REQUESTS.items()]
        yield Cell({"bytes": 102_400}, [own, *peers])


def value(figure: str, results: Results) -> "Spread | None":
    return results.value(figure, OURS)


def per_request(results: Results) -> list[Series]:
    """GET and PUT, a group of bars each."""
    found = []
    for label, side, names in (("bare libcurl", OURS, ("bare_get_us", "bare_put_us")), *(
            (side, side, ("get_us", "put_us")) for side in (OURS, OBSTORE, BOTO3))):
        values = [results.value(name, side) for name in names]
        if None not in values:
            known: list[Any] = values
            found.append(Series(label, ["GET", "PUT"], [one.median for one in known], [one.least for one in known],
                                [one.most for one in known]))
    return found


def losses(results: Results) -> list[str]:
    found = []
    for name in ("get_us", "put_us"):
        for side in (OBSTORE, BOTO3):
            over = results.ratio(name, OURS, side)
            if over is not None and over.median > 1:
                found.append(f"{name}: ours takes {over.median:.2f} × the processor time of {side}")
    return found


EXPERIMENT = Experiment(
    id="E10",
    name="requests",
    question="How much processor time does a request cost the client?",
    paper="",
    budget=Budget(quick_s=12, full_s=240),
    cells=cells,
    figures=[Figure("get_us", "µs", "processor time of a signed GET of a range of 100 KB"),
             Figure("put_us", "µs", "of a signed PUT of 100 KB"),
             Figure("put_hashed_us", "µs", "with the body's SHA-256 in the signature"),
             Figure("bare_get_us", "µs", "of a GET by libcurl alone, unsigned, unchecked"),
             Figure("bare_put_us", "µs", "of a PUT"),
             Figure("get_us.over", "×", "ours over bare, in turns"),
             Figure("put_us.over", "×", "ours over bare, in turns"),
             Figure("get_per_s", "1/s", "requests"), Figure("put_per_s", "1/s", "requests")],
    bars=[Bar("a GET over bare libcurl", lambda results: value("get_us.over", results), "<=", 1.5),
          Bar("a PUT over bare libcurl", lambda results: value("put_us.over", results), "<=", 1.5)],
    plots=[Plot("e10-requests", "Processor time of a request of 100 KB", "request", "processor time (µs)",
                per_request, kind="bars", log_y=True)],
    losses=losses,
    remarks=["Processor time of the client alone. Keys are made up and requests signed; the test store does not look "
             "at signatures. boto3 hashes the body over plain HTTP; beside it stands put_hashed_us.",
             "boto3 and obstore as Python calls them: what Python costs is in it."],
    needs=frozenset({"release", "peers"}),
)
