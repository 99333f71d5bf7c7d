"""The letters that OCR may read, by language: the models know many alphabets, mistake one's signs for another's."""

from collections.abc import Iterable

# Letters beyond ASCII that the languages of Mailroom's readers have.
_LETTERS = {
    "en": "",
    "de": "äöüÄÖÜß",
    "fr": "àâæçéèêëîïôœùûüÿÀÂÆÇÉÈÊËÎÏÔŒÙÛÜŸ«»°",
    "es": "áéíñóúüÁÉÍÑÓÚÜ¿¡ºª",
    "it": "àèéìîòóùÀÈÉÌÒÙ°",
    "nl": "áéëïíóöüÉËÏÖ",
    "pt": "áâãàçéêíóôõúÁÂÃÀÇÉÊÍÓÔÕÚºª",
    "pl": "ąćęłńóśźżĄĆĘŁŃÓŚŹŻ",
    "cs": "áčďéěíňóřšťúůýžÁČĎÉĚÍŇÓŘŠŤÚŮÝŽ",
    "da": "æøåÆØÅéÉ",
    "sv": "åäöÅÄÖéÉ",
}
LANGUAGES = frozenset(_LETTERS)
_ALWAYS = frozenset(map(chr, range(0x20, 0x7F))) | frozenset("€£¥§©®°±²³·×–—’‘“”„•…№")


def build_alphabet(languages: Iterable[str]) -> frozenset[str]:
    return _ALWAYS.union(*(_LETTERS[language] for language in languages))
