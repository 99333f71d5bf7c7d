"""The sections of a statement in which nothing was traded: dividends, interest, fees, transfers, what is held.

Their rows multiply as trades do: `50 0.85 42.50` are shares, a dividend for each, and what was paid.
"""

import re
from collections.abc import Iterator, Sequence

from ingestion.extract.trades.labels import DIRECTION, Label
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.no_trade_words import LIKE_TRADE
from ingestion.extract.trades.security import ISIN

_MAX_HEADING = 60  # letters
_MAX_ABOVE_ROWS = 3  # lines: a heading, the head of a table and one more
_MIN_HEADS = 2  # labels of numbers in the head of a table
_OF_NUMBERS = frozenset({Label.QUANTITY, Label.PRICE, Label.GROSS, Label.SETTLED, Label.FEE, Label.TAX})


def _match_heading(*names: str) -> re.Pattern[str]:
    """A line that has these names alone, with words that say whose, of what or in which currency."""
    name = rf"(?:{'|'.join(names)})"
    return re.compile(
        rf"[\W\d_]{{0,6}}(?:(?:your|cash|other|ihre|vos|sus|sue|suoi|uw|seus|suas|les|los|las)\s)?{name}"
        rf"(?:(?:\s?[,/&]\s?|\s(?:and|und|et|y|e|en|ed|i)\s){name}){{0,3}}"
        r"(?:\s(?:received|paid|credited|erhalten|perçus|reçus|cobrados|ricevuti|ontvangen|recebidos))?(?:\s(?:in|en)\s[A-Z]{3}|\s?\([^)]{1,20}\)|\s[A-Z]{3})?\W{0,4}",
        re.IGNORECASE,
    )


_WITHOUT_TRADES = _match_heading(
    r"dividends?(?:\sand\sinterest)?|distributions?|interest|income|coupons?|fees?|charges|commissions\spaid|withholding\stax(?:es)?|taxes|deposits?|withdrawals?|transfers?|corporate\sactions|open\spositions|positions|holdings",
    r"dividenden?(?:zahlungen|gutschriften)?|aussch[üu]ttungen|ertr[äa]ge|ertr[äa]gnisse|zinsen|zinsgutschriften|kupons?|geb[üu]hren|entgelte|kosten|steuern|quellensteuern?|einzahlungen|auszahlungen|ein-\sund\sauszahlungen|[üu]bertr[äa]ge|kapitalma(?:ß|ss)nahmen|best[äa]nde|depotbestand|offene\spositionen",
    r"dividendes|distributions|int[ée]r[êe]ts|revenus|frais|imp[ôo]ts|versements|retraits|virements|transferts|op[ée]rations\ssur\stitres|positions\souvertes|avoirs",
    r"dividendos|repartos|intereses|rendimientos|cupones|gastos|comisiones|impuestos|ingresos|retiradas|traspasos|transferencias|posiciones(?:\sabiertas)?",
    r"dividendi|distribuzioni|interessi|proventi|cedole|spese|commissioni|imposte|versamenti|prelievi|bonifici|trasferimenti|posizioni(?:\saperte)?",
    r"dividenden|uitkeringen|rente|inkomsten|kosten|belastingen|stortingen|opnames|overboekingen|(?:open\s)?posities",
    r"dividendos|distribui[çc][õo]es|juros|rendimentos|proventos|comiss[õo]es|impostos|dep[óo]sitos|levantamentos|transfer[êe]ncias|posi[çc][õo]es(?:\sabertas)?",
)
_WITH_TRADES = _match_heading(
    r"trades?|transactions?|trading\sactivity|activity|purchases|sales|buys|sells|executions|executed\sorders|orders|stocks?|equities|bonds|funds|etfs?",
    r"trades|transaktionen|k[äa]ufe|verk[äa]ufe|(?:wertpapier)?ums[äa]tze|(?:wertpapier)?gesch[äa]fte|ausf[üu]hrungen|orders?|aktien|anleihen|fonds",
    r"transactions|op[ée]rations|achats|ventes|ordres\sex[ée]cut[ée]s|n[ée]gociations|mouvements|actions|obligations",
    r"transacciones|operaciones|compras|ventas|[óo]rdenes\sejecutadas|movimientos|operazioni|acquisti|vendite|movimenti|ordini\seseguiti|azioni|obbligazioni",
    r"transacties|aankopen|verkopen|orders|mutaties|aandelen|obligaties|transa[çc][õo]es|opera[çc][õo]es|compras|vendas|movimentos|neg[óo]cios|a[çc][õo]es",
)


def list_lines_without_trades(lines: Sequence[ReadLine]) -> frozenset[int]:
    """The `index` of each line in such a section; one that has a word for a trade of its own is none of them."""
    return frozenset(_find_lines(lines))


def _find_lines(lines: Sequence[ReadLine]) -> Iterator[int]:
    is_within = False
    for position, line in enumerate(lines):
        if _is_heading(line):
            below = lines[position + 1 : position + 1 + _MAX_ABOVE_ROWS]
            if _WITHOUT_TRADES.fullmatch(line.text) is not None:
                is_within = any(map(_is_row, below))
            elif _WITH_TRADES.fullmatch(line.text) is not None or any(map(_is_table_head, below[:1])):
                is_within = False
        if is_within and DIRECTION.search(line.text) is None and LIKE_TRADE.search(line.text) is None:
            yield line.index


def _is_heading(line: ReadLine) -> bool:
    return len(line.text) <= _MAX_HEADING and not line.numbers and not line.dates


def _is_row(line: ReadLine) -> bool:
    """Of a statement. `Costs` above `4.95 EUR` is the label of an amount, and no section."""
    return bool(line.numbers) and not line.labels and (bool(line.dates) or ISIN.search(line.text) is not None)


def _is_table_head(line: ReadLine) -> bool:
    return not line.numbers and sum(place.label in _OF_NUMBERS for place in line.labels) >= _MIN_HEADS
