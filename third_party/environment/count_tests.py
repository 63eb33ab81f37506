#!/usr/bin/python3
"""Counts the test cases of Bazel runs from the build event files they wrote.

    count_tests.py EVENTS.json...      # prints: passed failed skipped

A case is a <testcase> of the XML that each test leaves; a test that failed without a failing case, or left no case, counts
as one.
"""
import json
import sys
import urllib.parse
import xml.etree.ElementTree as xml


def results(path):
    """The last attempt of each test, run and shard."""
    last = {}
    with open(path, encoding="utf-8") as events:
        for line in events:
            event = json.loads(line)
            if "testResult" in event:
                key = event["id"]["testResult"]
                last[key["label"], key.get("run"), key.get("shard")] = event["testResult"]
    return last.values()


def count(result):
    passed = failed = skipped = 0
    for output in result.get("testActionOutput", []):
        if output["name"] != "test.xml" or not output.get("uri", "").startswith("file://"):
            continue
        try:
            cases = list(xml.parse(urllib.parse.unquote(output["uri"][len("file://"):])).iter("testcase"))
        except (OSError, xml.ParseError):
            continue
        for case in cases:
            kinds = {child.tag for child in case}
            if kinds & {"failure", "error"}:
                failed += 1
            elif "skipped" in kinds:
                skipped += 1
            else:
                passed += 1
    if result["status"] not in ("PASSED", "FLAKY"):
        failed = max(failed, 1)
    else:
        passed, failed = passed + failed, 0  # the test itself says which failures are expected
        if passed + skipped == 0:
            passed = 1
    return passed, failed, skipped


def main(paths):
    totals = [count(result) for path in paths for result in results(path)]
    print(*(sum(column) for column in zip((0, 0, 0), *totals)))


main(sys.argv[1:])
