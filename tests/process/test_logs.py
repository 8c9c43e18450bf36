"""Log lines: one JSON object each, with nothing in them that came from outside."""

import json
import logging

from laari.errors import LaariError
from laari.process.logs import JsonLine


def line(error: BaseException | None = None, **extra: object) -> dict[str, object]:
    info = None if error is None else (type(error), error, error.__traceback__)
    record = logging.LogRecord("laari.test", logging.ERROR, "", 1, "%s failed", ("it",), info)
    record.__dict__.update(extra)
    text = JsonLine().format(record)
    assert "\n" not in text
    return json.loads(text)  # type: ignore[no-any-return]


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        raise error from cause
    except BaseException as caught:
        return caught


def test_a_line_is_an_object_with_the_request_it_is_about() -> None:
    found = line(request_id="req_1")
    assert found["message"] == "it failed"
    assert (found["level"], found["logger"], found["request_id"]) == (
        "error",
        "laari.test",
        "req_1",
    )
    assert "error" not in found


def test_only_texts_of_our_own_are_written() -> None:
    error = raised(ValueError("ali@example.com"), raised(LaariError("the key is missing")))
    told = line(error)["error"]
    assert isinstance(told, list)
    assert told[0] == "ValueError"
    assert "LaariError: the key is missing" in told
    assert "ali@example.com" not in json.dumps(told)


def test_an_exception_raised_from_itself_has_an_end() -> None:
    error = ValueError()
    told = line(raised(error, error))["error"]
    assert isinstance(told, list)
    assert told.count("ValueError") == 1


def test_the_stack_of_a_process_that_hangs() -> None:
    assert line(stack=['File "a.py", line 1 in hang'])["stack"] == ['File "a.py", line 1 in hang']
    assert "stack" not in line(stack=[])
