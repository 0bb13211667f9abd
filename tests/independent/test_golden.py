# SPDX-FileCopyrightText: The BatchWeave authors
# SPDX-License-Identifier: Apache-2.0
"""The independent decoder over tests/golden, and the tests of decoder, checker and judge themselves.

python3 tests/independent/test_golden.py [NAME…]; ends with `N passed, N failed`.
"""

import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "demo")]

import golden  # noqa: E402
import test_judge  # noqa: E402
import test_namespaces  # noqa: E402
import test_objects  # noqa: E402


def main(wanted):
    passed = failed = 0
    tests = [(f"{module.__name__}.{name}", getattr(module, name))
             for module in (test_objects, test_namespaces, test_judge) for name in dir(module)
             if name.startswith("test_")]
    tests += golden.tests()
    for name, test in tests:
        if wanted and not any(word in name for word in wanted):
            continue
        try:
            test()
            passed += 1
        except Exception:
            failed += 1
            print(f"FAILED {name}")
            traceback.print_exc(file=sys.stdout)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
