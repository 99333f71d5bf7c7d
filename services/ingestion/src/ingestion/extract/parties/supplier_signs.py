"""What on a page says whose invoice it is, and which of it is enough to believe it without a person (ADR 82, 84)."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from ingestion.extract import labels
from ingestion.extract.parties.company_names import list_long_words, normalize_name
from ingestion.extract.parties.third_parties import is_financier


class Sign(Enum):
    # Where the name stands.
    TOP = "top"  # in the first lines
    LETTER_HEAD = "letter head"
    UPPER = "upper part"
    FOOT = "foot"
    FIRST = "first"  # it begins the page
    # What the page calls it.
    LABEL = "label"
    NAMED = "named"  # by a label that means the seller and nothing else
    SENDER_LINE = "sender line"
    ADDRESS = "address"  # name, street and town in one line, wherever that stands
    HOLDER = "holder"  # of the account
    HOLDER_ABOVE_FOOT = "holder above the foot"
    # What it is.
    COMPANY = "company"  # by its legal form
    DOMAIN = "domain"
    DOMAIN_IN_FOOT = "domain in foot"
    OWN_DOMAIN = "own domain"  # in its own block
    DOMAIN_OF_WEB = "domain of a web address apart"
    DOMAIN_OF_MAIL = "domain of a mail address above"
    MAIL = "mail"
    LARGE = "large"
    SEEN = "seen"
    AGAIN = "again"
    # Numbers, as far as they decide which name is ahead ...
    NUMBER = "number"
    ONLY_NUMBER = "only number"
    COLUMN = "column"
    # ... and those that are nobody else's: in its own cell, or below it.
    OWN_NUMBER = "own number"
    OWN_TAX_ID = "own tax number"
    ONLY_TAX_ID = "only tax number"
    CONTACT = "contact"  # in its letter head
    HEADS_BLOCK = "heads its block"
    OF_BUSINESS = "of a business"  # what no customer's address has, in its letter head
    WHOLE_FOOT = "whole foot"  # all that a business has, its account and its domain, and nobody else
    BRAND = "brand"  # in large letters over the page, of its foot's domain or in its name
    IMPRINT = "imprint"  # in the foot, which it stands in again
    NUMBER_OF_FOOT = "number of the foot"
    # Of the page.
    OTHER_CUSTOMER = "other customer"
    HAS_BARE_ADDRESS = "bare address"  # it may be whom the letter is written to
    ADDRESS_BELOW = "address below"  # somebody else's, of whom nothing else is said
    TILL = "till"


# Each row is enough. All that one line of a page says is one sign: a foot names banks, insurers, partners and makers
# of software with legal form, domain and number. So whoever stands only there is never certain by what is there, and
# a number in a letter head needs what no customer's address has.
_BESIDE_SENDER_LINE = (
    *(Sign.COMPANY, Sign.OWN_NUMBER, Sign.DOMAIN, Sign.HOLDER, Sign.MAIL),
    *(Sign.LETTER_HEAD, Sign.IMPRINT),
)
_IN_HEAD_AND_FOOT = (Sign.COMPANY, Sign.OWN_NUMBER, Sign.DOMAIN, Sign.MAIL)
_BUSINESS = (Sign.CONTACT, Sign.LARGE)
_FIRST_AT_TILL = (Sign.FIRST, Sign.OWN_NUMBER, Sign.CONTACT)
# What a customer at the top has not, though he has a telephone, a number, a domain and an account as well.
_NO_CUSTOMER = (Sign.OTHER_CUSTOMER, Sign.ADDRESS_BELOW, Sign.OF_BUSINESS)
_LARGE_HEAD = {Sign.LETTER_HEAD, Sign.LARGE, Sign.HEADS_BLOCK}
_WHOLE_BLOCK = {Sign.UPPER, Sign.COMPANY, Sign.HEADS_BLOCK, Sign.OWN_TAX_ID, Sign.OWN_DOMAIN}
_CERTAIN = tuple(
    map(
        frozenset,
        (
            {Sign.NAMED},
            *({Sign.SENDER_LINE, other} for other in _BESIDE_SENDER_LINE),
            *({Sign.LETTER_HEAD, Sign.IMPRINT, other} for other in _IN_HEAD_AND_FOOT),
            *({Sign.LETTER_HEAD, Sign.IMPRINT, Sign.NUMBER_OF_FOOT, Sign.HEADS_BLOCK, other} for other in _BUSINESS),
            {Sign.LETTER_HEAD, Sign.HOLDER},
            {Sign.LETTER_HEAD, Sign.DOMAIN_IN_FOOT},
            {Sign.LETTER_HEAD, Sign.DOMAIN_OF_WEB, Sign.COMPANY},
            *({Sign.LETTER_HEAD, Sign.OWN_DOMAIN, Sign.COMPANY, other} for other in _NO_CUSTOMER),
            *({Sign.LETTER_HEAD, Sign.OWN_DOMAIN, Sign.MAIL, other} for other in _NO_CUSTOMER),
            *({Sign.LETTER_HEAD, Sign.OWN_NUMBER, Sign.HEADS_BLOCK, other} for other in _NO_CUSTOMER),
            *({Sign.LETTER_HEAD, Sign.OWN_NUMBER, Sign.MAIL, other} for other in _NO_CUSTOMER),
            # Nobody prints whom he writes to in larger type than the rest.
            *({*_LARGE_HEAD, Sign.OWN_NUMBER, other} for other in (Sign.COMPANY, Sign.CONTACT)),
            *({*_LARGE_HEAD, Sign.COMPANY, other} for other in (Sign.DOMAIN, Sign.OWN_DOMAIN, Sign.ADDRESS_BELOW)),
            *({*_LARGE_HEAD, Sign.CONTACT, other} for other in (Sign.OWN_DOMAIN, Sign.ADDRESS_BELOW)),
            *({*_LARGE_HEAD, Sign.MAIL, other} for other in (Sign.OTHER_CUSTOMER, Sign.ADDRESS_BELOW)),
            {Sign.LETTER_HEAD, Sign.HEADS_BLOCK, Sign.OF_BUSINESS, Sign.ADDRESS_BELOW},
            {Sign.UPPER, Sign.COMPANY, Sign.HEADS_BLOCK, Sign.OWN_NUMBER, Sign.OTHER_CUSTOMER},
            {Sign.UPPER, Sign.COMPANY, Sign.HEADS_BLOCK, Sign.OWN_DOMAIN, Sign.OTHER_CUSTOMER},
            # Beside a customer whom no label names: his block is like it, but not in the foot.
            {*_WHOLE_BLOCK, Sign.IMPRINT},
            {Sign.TOP, Sign.COMPANY, Sign.HEADS_BLOCK, Sign.OTHER_CUSTOMER},
            # A till prints whose it is first; whose bill it is may follow.
            *({Sign.TILL, Sign.TOP, Sign.COMPANY, other} for other in _FIRST_AT_TILL),
            # Whose head is a picture: it is paid, or written to, and has the page's one tax number.
            {Sign.HOLDER_ABOVE_FOOT, Sign.OWN_TAX_ID, Sign.ONLY_TAX_ID},
            {Sign.FOOT, Sign.COMPANY, Sign.OWN_TAX_ID, Sign.ONLY_TAX_ID, Sign.DOMAIN_OF_MAIL},
            {Sign.WHOLE_FOOT, Sign.COMPANY, Sign.ONLY_TAX_ID, Sign.OTHER_CUSTOMER},
            # Head and foot agree: the brand over the page is that of the company whose numbers the foot has.
            {Sign.BRAND, Sign.COMPANY, Sign.IMPRINT, Sign.NUMBER_OF_FOOT, Sign.OWN_TAX_ID, Sign.ONLY_TAX_ID},
        ),
    )
)
_CALLED = frozenset({Sign.NAMED, Sign.SENDER_LINE})
# What a label over the block has not.
_OF_A_HEAD = frozenset({Sign.COMPANY, Sign.LARGE, Sign.HEADS_BLOCK, Sign.DOMAIN, Sign.OWN_NUMBER, Sign.CONTACT})
_OF_BUSINESS = frozenset(
    {*(Sign.COMPANY, Sign.OWN_NUMBER, Sign.DOMAIN, Sign.HOLDER), *(Sign.OF_BUSINESS, Sign.CONTACT, Sign.MAIL)}
)
_STRONG = frozenset({Sign.NAMED, Sign.SENDER_LINE, Sign.HOLDER, Sign.OWN_NUMBER, Sign.IMPRINT})
_PLACES_OF_SELLER = frozenset({Sign.LETTER_HEAD, Sign.UPPER, Sign.LABEL, Sign.SENDER_LINE})


@dataclass(slots=True)
class Candidate:
    """A name, how far it is ahead of others, and what speaks for it. `rows` are the lines that it stands in."""

    written: str
    score: float = 0.0
    signs: set[Sign] = field(default_factory=set)
    rows: set[int] = field(default_factory=set)

    def add(self, sign: Sign, score: float = 0.0) -> None:
        if sign not in self.signs:
            self.signs.add(sign)
            self.score += score

    def is_same(self, other: "Candidate") -> bool:
        """Whether both may be one business: `Lumen`, `Lumen Software Limited`; `Malerbetrieb Kunz`, `Anna Kunz`."""
        ours, theirs = normalize_name(self.written), normalize_name(other.written)
        is_longer = bool(ours and theirs) and (ours.startswith(theirs) or theirs.startswith(ours))
        return is_longer or bool(list_long_words(self.written) & list_long_words(other.written))

    @property
    def stands_elsewhere_alone(self) -> bool:
        """Whether it has no place that a seller has: it stands among the positions, or in the foot."""
        return not self.signs & _PLACES_OF_SELLER


def is_enough(signs: set[Sign]) -> bool:
    """Whether two signs agree: of one alone nobody knows whether it is a slogan's, a customer's or a partner's."""
    return any(some <= signs for some in _CERTAIN)


def is_contradicted(best: Candidate, others: Iterable[Candidate]) -> bool:
    """Whether the page calls somebody else the sender, pays somebody else, or has two names beside in its head; or,
    where the other address makes it certain, whether that may be one to deliver to, and the seller is elsewhere."""
    is_bare = not is_enough(best.signs - {Sign.ADDRESS_BELOW})
    return any(
        (_contradicts(best, other) or (is_bare and _may_be_seller(other))) and not best.is_same(other)
        for other in others
    )


def _may_be_seller(other: Candidate) -> bool:
    if is_financier(other.written) or Sign.HAS_BARE_ADDRESS in other.signs:
        return False
    if other.signs & {Sign.ADDRESS, Sign.COMPANY}:
        return True
    # What stands below a name in its own block is how that one is reached.
    is_heading = Sign.HEADS_BLOCK in other.signs or Sign.UPPER not in other.signs
    return is_heading and bool(other.signs & {Sign.DOMAIN, Sign.MAIL, Sign.CONTACT})


def _contradicts(best: Candidate, other: Candidate) -> bool:
    if other.signs & _CALLED and not best.signs & _CALLED:
        return True
    if Sign.BRAND in best.signs:
        # The head is the brand's: whoever stands below it as a business does may sell under it.
        is_business = bool(other.signs & _OF_BUSINESS)
        return Sign.UPPER in other.signs and is_business and Sign.HAS_BARE_ADDRESS not in other.signs
    if Sign.LETTER_HEAD not in best.signs and not best.signs & _CALLED:
        if best.signs >= {*_WHOLE_BLOCK, Sign.IMPRINT}:
            return Sign.LETTER_HEAD in other.signs and bool(other.signs & _OF_A_HEAD)
        return Sign.LETTER_HEAD in other.signs  # the head is no picture
    # Whoever has less than a number, a foot or an account may be a partner of whom is paid, or stands in the head too.
    if best.signs & _STRONG:
        return False
    is_strong = bool(other.signs & {Sign.LARGE, Sign.DOMAIN, Sign.IMPRINT})
    is_strong |= {Sign.OWN_NUMBER, Sign.HEADS_BLOCK} <= other.signs or bool(best.rows & other.rows)
    return Sign.HOLDER in other.signs or (Sign.LETTER_HEAD in other.signs and is_strong)


def has_legal_form(candidate: Candidate) -> bool:
    return labels.COMPANY.search(candidate.written) is not None
