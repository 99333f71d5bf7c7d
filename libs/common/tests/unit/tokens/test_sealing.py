from base64 import b64decode, b64encode

import pytest

from mailroom_common.errors import SettingsError
from mailroom_common.tokens.sealing import CannotUnseal, SealingKeys

OLD = "old:" + b64encode(bytes(range(32))).decode()
NEW = "new:" + b64encode(bytes(range(32, 64))).decode()


def test_what_was_sealed_opens_and_shows_nothing() -> None:
    keys = SealingKeys.parse_keys(OLD)
    sealed = keys.seal_secret(b"canary-secret", bound_to="row 1")
    assert keys.unseal_secret(sealed, bound_to="row 1") == b"canary-secret"
    assert b"canary" not in b64decode(sealed.partition(":")[2])


def test_same_secret_is_sealed_differently_each_time() -> None:
    keys = SealingKeys.parse_keys(OLD)
    assert len({keys.seal_secret(b"secret", bound_to="row 1") for _ in range(100)}) == 100


def test_first_key_seals_and_older_ones_still_open() -> None:
    before = SealingKeys.parse_keys(OLD).seal_secret(b"secret", bound_to="row 1")
    rotated = SealingKeys.parse_keys(f"{NEW}, {OLD}")
    assert rotated.unseal_secret(before, bound_to="row 1") == b"secret"
    assert rotated.seal_secret(b"secret", bound_to="row 1").startswith("new:")


def test_key_that_was_removed_is_named() -> None:
    sealed = SealingKeys.parse_keys(OLD).seal_secret(b"secret", bound_to="row 1")
    with pytest.raises(CannotUnseal, match="key old"):
        SealingKeys.parse_keys(NEW).unseal_secret(sealed, bound_to="row 1")


def test_box_that_was_moved_to_another_row_does_not_open() -> None:
    keys = SealingKeys.parse_keys(OLD)
    sealed = keys.seal_secret(b"secret", bound_to="row 1")
    with pytest.raises(CannotUnseal, match="belongs elsewhere"):
        keys.unseal_secret(sealed, bound_to="row 2")


@pytest.mark.parametrize("place", [0, 11, 12, 20, -1])
def test_box_that_was_changed_does_not_open(place: int) -> None:
    keys = SealingKeys.parse_keys(OLD)
    key_id, _, encoded = keys.seal_secret(b"secret", bound_to="row 1").partition(":")
    box = bytearray(b64decode(encoded))
    box[place] ^= 1
    with pytest.raises(CannotUnseal):
        keys.unseal_secret(f"{key_id}:{b64encode(box).decode()}", bound_to="row 1")


@pytest.mark.parametrize("sealed", ["", "old", "old:", "old:???", "old:AAAA"])
def test_what_is_no_box_does_not_open(sealed: str) -> None:
    with pytest.raises(CannotUnseal):
        SealingKeys.parse_keys(OLD).unseal_secret(sealed, bound_to="row 1")


def test_box_of_one_key_does_not_pass_for_anothers() -> None:
    both = SealingKeys.parse_keys(f"{OLD},{NEW}")
    _, _, box = both.seal_secret(b"secret", bound_to="row 1").partition(":")
    with pytest.raises(CannotUnseal):
        both.unseal_secret(f"new:{box}", bound_to="row 1")


def test_the_key_id_is_sealed_too_and_cannot_be_exchanged_for_another_of_the_same_key() -> None:
    both = SealingKeys.parse_keys(f"{OLD},copy:{OLD.partition(':')[2]}")
    _, _, box = both.seal_secret(b"secret", bound_to="row 1").partition(":")
    with pytest.raises(CannotUnseal):
        both.unseal_secret(f"copy:{box}", bound_to="row 1")


@pytest.mark.parametrize("size", [16, 24, 31, 33, 64])
def test_a_key_of_another_size_is_refused_though_the_cipher_would_take_some(size: int) -> None:
    with pytest.raises(SettingsError, match="entry 1"):
        SealingKeys.parse_keys(f"k:{b64encode(bytes(size)).decode()}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "holds no key"),
        (" , ", "holds no key"),
        ("canary", "entry 1"),
        (f"{OLD},short:AAAA", "entry 2"),
        (f"{OLD},{OLD}", "entry 2"),
        (":" + OLD.partition(":")[2], "entry 1"),
        ("old:" + OLD.partition(":")[2] + "*", "entry 1"),
    ],
)
def test_wrong_setting_is_named_without_the_key(text: str, said: str) -> None:
    with pytest.raises(SettingsError, match="MAILROOM_TOKEN_KEYS") as refused:
        SealingKeys.parse_keys(text)
    assert said in str(refused.value)
    assert "canary" not in str(refused.value)


def test_keys_are_in_no_representation() -> None:
    keys = SealingKeys.parse_keys(OLD)
    assert str(bytes(range(32))) not in repr(keys)
    assert OLD.partition(":")[2] not in repr(keys)
