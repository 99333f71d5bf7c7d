from collections.abc import AsyncIterator

import httpx
import pytest

from ingestion.api.form_file import MAX_FORM_BYTES, BadForm, find_boundary, read_form_file

CONTENT = b"%PDF-1.7 \r\n--not the end\r\n\x00\xff" + b"x" * 300


async def stream(body: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def form(*parts: str, end: str = "--b--\r\n") -> bytes:
    return "".join(f"--b\r\n{part}\r\n" for part in parts).encode() + end.encode()


async def read(body: bytes, boundary: bytes = b"b", size: int = 7) -> tuple[str | None, bytes]:
    file = await read_form_file(stream(body, size), boundary)
    return file.filename, b"".join([chunk async for chunk in file.chunks])


@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_the_file_of_a_form_is_found_however_it_is_cut_into_chunks(size: int) -> None:
    request = httpx.Request("POST", "http://x", data={"note": "by hand"}, files={"file": ("sc\u00e4n.pdf", CONTENT)})
    boundary = find_boundary(request.headers["content-type"])
    assert boundary is not None
    filename, content = await read(request.read(), boundary, size)
    assert content == CONTENT
    assert filename is not None
    assert filename.endswith("n.pdf")


async def test_a_file_may_have_no_name_and_no_bytes() -> None:
    assert await read(form('Content-Disposition: form-data; name="file"; filename=""\r\n\r\n')) == (None, b"")


_FIRST = 'Content-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF-1.7'


@pytest.mark.parametrize("size", [1, 7, 100_000])
async def test_a_second_file_is_refused_and_not_dropped(size: int) -> None:
    with pytest.raises(BadForm, match="more than one: send each by a call of its own"):
        await read(form(_FIRST, _FIRST.replace("a.pdf", "b.pdf")), size=size)


async def test_a_form_may_have_fields_and_an_input_without_a_file_behind_its_file() -> None:
    """A browser sends an input in which nothing was chosen as a file without a name."""
    field = 'Content-Disposition: form-data; name="comment"\r\n\r\nfrom the post'
    empty = 'Content-Disposition: form-data; name="other"; filename=""\r\n\r\n'
    assert await read(form(field, _FIRST, field, empty)) == ("a.pdf", b"%PDF-1.7")


@pytest.mark.parametrize("name", ["profile", "filename"])
@pytest.mark.parametrize("is_first", [True, False])
async def test_a_field_that_is_a_parameter_of_the_address_is_refused_and_not_ignored(name: str, is_first: bool) -> None:
    field = f'Content-Disposition: form-data; name="{name}"\r\n\r\ncontract_note'
    with pytest.raises(BadForm, match=f"a field {name}"):
        await read(form(field, _FIRST) if is_first else form(_FIRST, field))


async def test_what_follows_the_file_is_bounded() -> None:
    field = 'Content-Disposition: form-data; name="a"\r\n\r\n'
    with pytest.raises(BadForm, match="too many fields"):
        await read(form(_FIRST, *[field] * 30), size=1000)
    with pytest.raises(BadForm, match="too large"):
        await read(form(_FIRST, field + "x" * 2 * MAX_FORM_BYTES), size=1000)


async def test_no_half_of_a_character_is_in_a_file_name() -> None:
    """No database holds one."""
    name, _ = await read(form("Content-Disposition: form-data; filename*=unicode_escape''%5cud800.pdf\r\n\r\n"))
    assert name == "?.pdf"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "ends within a part"),
        (b"no form at all", "ends within a part"),
        (form(), "no file"),
        (form('Content-Disposition: form-data; name="a"\r\n\r\nb'), "no file"),
        (form('Content-Disposition: form-data; name="a"\r\n\r\nb') * 30, "no file"),
        (b"--b\r\n" + b"x" * 9000, "no head"),
        (b"--b\r\nContent-Disposition: form-data", "no head"),
        (form("Content-Disposition: form-data; filename*=undefined''x\r\n\r\n"), "encoding that is none"),
        (form("Content-Disposition: form-data\r\n\r\n" + "x" * 2 * MAX_FORM_BYTES), "too large"),
    ],
    ids=[
        "empty",
        "no form",
        "no part",
        "no file",
        "many parts",
        "long head",
        "half a head",
        "odd encoding",
        "long part",
    ],
)
async def test_what_is_no_form_with_a_file_is_refused(body: bytes, sentence: str) -> None:
    with pytest.raises(BadForm, match=sentence):
        await read(body, size=1000)


async def test_a_form_that_is_cut_off_within_its_file_gives_no_whole_file() -> None:
    part = 'Content-Disposition: form-data; name="file"; filename="a.pdf"\r\n\r\n%PDF-1.7'
    with pytest.raises(BadForm, match="ends within a part"):
        await read(form(part, end="")[:-2])


@pytest.mark.parametrize(
    ("content_type", "boundary"),
    [
        (None, None),
        ("application/pdf", None),
        ("multipart/mixed; boundary=b", None),
        ("multipart/form-data; boundary=b", b"b"),
        ('Multipart/Form-Data; charset=utf-8; boundary="a b"', b"a b"),
    ],
)
def test_only_a_form_has_a_boundary(content_type: str | None, boundary: bytes | None) -> None:
    assert find_boundary(content_type) == boundary


@pytest.mark.parametrize("parameters", ["", "; boundary=", f"; boundary={'b' * 71}", "; boundary=a\x00"])
def test_a_form_without_a_boundary_is_refused(parameters: str) -> None:
    with pytest.raises(BadForm, match="boundary"):
        find_boundary(f"multipart/form-data{parameters}")
