"""Elements of untrusted XML by their local names: generations of one format differ in their namespaces."""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from lxml import etree
from lxml.etree import _Element as Element

_LONGEST_NUMBER = 100


def parse_xml(xml: bytes) -> Element | None:
    """The root; None for what is no XML, or carries a DTD."""
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(xml, parser)
    except etree.XMLSyntaxError:
        return None
    info: Any = root.getroottree().docinfo  # Any: the stubs do not know its members
    return None if info.doctype else root


def find_child(parent: Element | None, *names: str) -> Element | None:
    return next((child for child in list_child_elements(parent) if get_local_name(child) in names), None)


def find_children(parent: Element | None, name: str) -> Iterator[Element]:
    return (child for child in list_child_elements(parent) if get_local_name(child) == name)


def list_child_elements(parent: Element | None) -> Iterator[Element]:
    # "{*}*" leaves out processing instructions and unresolved entities, whose tag is no string.
    return iter(()) if parent is None else parent.iterchildren("{*}*")


def find_first(parent: Element | None, path: str) -> Element | None:
    return next(iter(find_all(parent, path)), None)


def find_all(parent: Element | None, path: str) -> list[Element]:
    if parent is None:
        return []
    return parent.findall("/".join(f"{{*}}{step}" for step in path.split("/")))


def read_text(parent: Element | None, path: str) -> str | None:
    found = find_first(parent, path)
    return strip_text(get_text(found)) if found is not None else None


def get_text(element: Element) -> str:
    """All of it: `DE88<x/>2008` is not `DE88`."""
    return "".join(str(text) for text in element.itertext())


def strip_text(text: str | None) -> str | None:
    return text.strip() or None if text else None


def read_decimal(parent: Element | None, name: str) -> Decimal | None:
    child = find_child(parent, name)
    return parse_number(get_text(child)) if child is not None else None


# Of XML Schema. Python would read `1_19`, `1e2`, `NaN` and the digits of every alphabet too.
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")


def parse_number(text: str) -> Decimal | None:
    written = text.strip()
    value = Decimal(written) if len(written) < _LONGEST_NUMBER and _DECIMAL.fullmatch(written) else None
    # A number that takes a page to write is no amount.
    return value if value is None or abs(value.adjusted()) < 15 else None


def get_local_name(element: Element) -> str:
    return etree.QName(element).localname
