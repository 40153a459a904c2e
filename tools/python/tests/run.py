"""run.py COUNTS - runs every test and writes `passed failed skipped checks` to the file COUNTS."""

import os
import sys
import unittest


def main(counts):
    tests = unittest.defaultTestLoader.discover(os.path.dirname(os.path.abspath(__file__)))
    result = unittest.TextTestRunner().run(tests)
    bad = {str(getattr(test, "test_case", test)) for test, _ in result.failures + result.errors}
    ran, failed, skipped = result.testsRun, len(bad), len(result.skipped)
    with open(counts, "w", encoding="ascii") as file:
        print(ran - failed - skipped, failed, skipped, ran - skipped, file=file)
    return 0 if ran and result.wasSuccessful() else 1


if __name__ == "__main__":  # workers that are spawned import this file
    sys.exit(main(sys.argv[1]))
