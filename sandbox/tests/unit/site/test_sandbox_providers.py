"""What the sandbox takes from the environment, and what it has of its own."""

from mailroom_sandbox.site.sandbox_providers import list_passed_over


def test_settings_that_the_sandbox_does_not_take_are_named_as_themselves_or_as_files() -> None:
    given = ["MAILROOM_API_KEYS_FILE", "MAILROOM_PUBLIC_URL", "MAILROOM_FRONT_PORT", "MAILROOM_API_KEY", "HOME"]
    assert list_passed_over(given) == ["MAILROOM_API_KEYS_FILE", "MAILROOM_PUBLIC_URL"]
