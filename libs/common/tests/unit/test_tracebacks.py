import asyncpg
import pytest
from pydantic import BaseModel

from mailroom_common.errors import Rejected
from mailroom_common.tracebacks import describe_without_quotes, format_traceback

SECRET = "Notice to quit"


class Model(BaseModel):
    count: int


def catch(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:  # noqa: BLE001  # to give it a traceback
        return caught


def build_row_error() -> BaseException:
    error = asyncpg.NotNullViolationError("null value in column of relation")
    error.detail = f"Failing row contains (1, {SECRET})."
    return error


def build_library_error(kind: str) -> BaseException:
    try:
        match kind:
            case "int":
                int(SECRET)
            case "key":
                {"": 1}[SECRET]
            case "pydantic":
                Model.model_validate({"count": SECRET})
    except Exception as error:  # noqa: BLE001  # whatever the library raises
        return error
    raise AssertionError(kind)


@pytest.mark.parametrize("kind", ["int", "key", "pydantic"])
def test_what_a_library_quotes_is_not_logged(kind: str) -> None:
    error = build_library_error(kind)
    shown = format_traceback((type(error), error, error.__traceback__))
    assert SECRET in str(error)
    assert SECRET not in shown
    assert f"{type(error).__name__}" in shown
    assert "in build_library_error" in shown


def test_the_row_that_postgres_shows_is_not_logged() -> None:
    error = catch(build_row_error())
    assert SECRET in str(error)
    assert describe_without_quotes(error) == (
        "asyncpg.exceptions.NotNullViolationError: null value in column of relation"
    )


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError(f"can't parse '{SECRET}'"), "ValueError: can't parse …"),
        (ValueError(f'no number: it\'s "{SECRET}"'), "ValueError: no number: it's …"),
        (ValueError(f"no place for b'{SECRET}'"), "ValueError: no place for …"),
        (RuntimeError(f"no such row: {{'subject': {SECRET}}}"), "RuntimeError: no such row: …"),
        (RuntimeError(f"refused\n{SECRET}"), "RuntimeError: refused"),
        (RuntimeError("broke after 3 s"), "RuntimeError: broke after 3 s"),
        (TypeError("'NoneType' object is not iterable"), "TypeError: 'NoneType' object is not iterable"),
    ],
)
def test_a_message_is_logged_up_to_what_it_quotes(error: Exception, expected: str) -> None:
    assert describe_without_quotes(error) == expected


def test_our_own_sentence_is_logged_whole() -> None:
    error = Rejected("the record of attachment 'a-1' names a blob that is not its own")
    assert describe_without_quotes(error) == f"mailroom_common.errors.Rejected: {error}"


def test_an_error_is_logged_with_its_causes_and_those_of_its_group() -> None:
    first = catch(ValueError("first"))
    second = RuntimeError("second")
    second.__cause__ = first
    first.__context__ = second  # a circle, as careless code makes them
    group = catch(BaseExceptionGroup("unhandled errors", [catch(second), catch(KeyError(SECRET))]))
    shown = format_traceback((type(group), group, group.__traceback__))
    assert [word in shown for word in ("ValueError: first", "RuntimeError: second", "KeyError: …")] == [True] * 3
    assert shown.index("first") < shown.index("second")
    assert SECRET not in shown
