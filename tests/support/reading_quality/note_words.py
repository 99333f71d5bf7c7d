"""What the drawn notes of each language say: two sets of words, and how numbers and days are written there."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NoteWords:
    """What a note calls its parts. `settled` is for a buy and for a sale, `sides` are the words for both; `told` is a
    sentence with `{side}`, `{units}`, `{name}`, `{price}` and `{day}`."""

    title: str
    side: str
    sides: tuple[str, str]
    name: str
    isin: str
    traded: str
    settles: str
    quantity: str
    price: str
    gross: str
    fee: str
    other_fee: str
    tax: str
    settled: tuple[str, str]
    reference: str
    account: str
    rate: str
    told: tuple[str, str]


@dataclass(frozen=True, slots=True)
class NoteCountry:
    """`style` is how 1234.5 is written; `day` how a date is, with `d`, `m` and `Y`."""

    language: str
    words: tuple[NoteWords, NoteWords]
    currency: str
    symbol: str
    style: str
    day: str


NOTE_COUNTRIES = (
    NoteCountry(
        "en",
        (
            NoteWords(
                "Contract Note",
                "Transaction type",
                ("Purchase", "Sale"),
                "Security",
                "ISIN",
                "Trade date",
                "Settlement date",
                "Quantity",
                "Price",
                "Consideration",
                "Commission",
                "Transaction charge",
                "Stamp duty",
                ("Total amount payable", "Net proceeds"),
                "Contract reference",
                "Account number",
                "Exchange rate",
                (
                    "We have bought for you {units} shares of {name} at {price} on {day}",
                    "We have sold for you {units} shares of {name} at {price} on {day}",
                ),
            ),
            NoteWords(
                "Trade Confirmation",
                "Side",
                ("Buy", "Sell"),
                "Instrument",
                "ISIN code",
                "Executed on",
                "Value date",
                "Shares",
                "Execution price",
                "Gross amount",
                "Brokerage",
                "Exchange fee",
                "PTM levy",
                ("Net amount due", "Net amount due to you"),
                "Order ID",
                "Client account no.",
                "FX rate",
                ("You bought {units} {name} at {price} on {day}", "You sold {units} {name} at {price} on {day}"),
            ),
        ),
        "GBP",
        "£",
        "1,234.5",
        "d/m/Y",
    ),
    NoteCountry(
        "de",
        (
            NoteWords(
                "Wertpapierabrechnung",
                "Geschäftsart",
                ("Kauf", "Verkauf"),
                "Wertpapier",
                "ISIN",
                "Handelstag",
                "Valuta",
                "Stück",
                "Ausführungskurs",
                "Kurswert",
                "Provision",
                "Börsenplatzgebühr",
                "Finanztransaktionssteuer",
                ("Ausmachender Betrag", "Ausmachender Betrag"),
                "Auftragsnummer",
                "Depotnummer",
                "Devisenkurs",
                (
                    "Wir haben für Sie gekauft am {day}: Stück {units} {name} zum Kurs von {price}",
                    "Wir haben für Sie verkauft am {day}: Stück {units} {name} zum Kurs von {price}",
                ),
            ),
            NoteWords(
                "Effektenabrechnung",
                "Transaktionsart",
                ("Zeichnung", "Rücknahme"),
                "Titel",
                "ISIN-Code",
                "Abschlusstag",
                "Erfüllungstag",
                "Anzahl",
                "Preis",
                "Gegenwert",
                "Courtage",
                "Fremde Spesen",
                "Eidg. Stempelabgabe",
                ("Zu Ihren Lasten", "Zu Ihren Gunsten"),
                "Referenznummer",
                "Kundennummer",
                "Umrechnungskurs",
                (
                    "Am {day} haben wir {units} Anteile {name} zu {price} gezeichnet",
                    "Am {day} haben wir {units} Anteile {name} zu {price} zurückgenommen",
                ),
            ),
        ),
        "EUR",
        "€",
        "1.234,5",
        "d.m.Y",
    ),
    NoteCountry(
        "fr",
        (
            NoteWords(
                "Avis d'opéré",
                "Sens",
                ("Achat", "Vente"),
                "Valeur",
                "Code ISIN",
                "Date d'exécution",
                "Date de règlement",
                "Quantité",
                "Cours",
                "Montant brut",
                "Courtage",
                "Frais de place",
                "Taxe sur les transactions financières",
                ("Montant net au débit", "Montant net au crédit"),
                "Référence",
                "Compte titres n°",
                "Taux de change",
                (
                    "Nous avons acheté pour votre compte le {day} : {units} titres {name} au cours de {price}",
                    "Nous avons vendu pour votre compte le {day} : {units} titres {name} au cours de {price}",
                ),
            ),
            NoteWords(
                "Avis d'exécution",
                "Nature de l'opération",
                ("Souscription", "Rachat"),
                "Libellé",
                "ISIN",
                "Date de négociation",
                "Date de valeur",
                "Nombre de parts",
                "Valeur liquidative",
                "Montant de l'opération",
                "Commission",
                "Droits d'entrée",
                "TTF",
                ("Net à payer", "Net à recevoir"),
                "N° d'ordre",
                "N° de compte",
                "Cours de change",
                (
                    "Souscription du {day} de {units} parts {name} au prix de {price}",
                    "Rachat du {day} de {units} parts {name} au prix de {price}",
                ),
            ),
        ),
        "EUR",
        "€",
        "1 234,5",
        "d/m/Y",
    ),
    NoteCountry(
        "es",
        (
            NoteWords(
                "Confirmación de operación de valores",
                "Tipo de operación",
                ("Compra", "Venta"),
                "Valor",
                "ISIN",
                "Fecha de ejecución",
                "Fecha valor",
                "Títulos",
                "Precio",
                "Importe bruto",
                "Comisión",
                "Cánones de bolsa",
                "Impuesto sobre transacciones financieras",
                ("Importe neto a cargar", "Importe neto a abonar"),
                "Número de orden",
                "Cuenta de valores",
                "Tipo de cambio",
                (
                    "El {day} hemos comprado por su cuenta {units} títulos de {name} a {price}",
                    "El {day} hemos vendido por su cuenta {units} títulos de {name} a {price}",
                ),
            ),
            NoteWords(
                "Liquidación de suscripción de fondos",
                "Operación",
                ("Suscripción", "Reembolso"),
                "Fondo",
                "Código ISIN",
                "Fecha operación",
                "Fecha de liquidación",
                "Participaciones",
                "Valor liquidativo",
                "Efectivo",
                "Corretaje",
                "Gastos de tramitación",
                "Retención",
                ("Total a cargar", "Total a abonar"),
                "Referencia",
                "Nº de contrato",
                "Cambio de divisa",
                (
                    "Suscripción el {day} de {units} participaciones de {name} a {price}",
                    "Reembolso el {day} de {units} participaciones de {name} a {price}",
                ),
            ),
        ),
        "EUR",
        "€",
        "1.234,5",
        "d/m/Y",
    ),
    NoteCountry(
        "it",
        (
            NoteWords(
                "Nota informativa",
                "Tipo operazione",
                ("Acquisto", "Vendita"),
                "Titolo",
                "Codice ISIN",
                "Data esecuzione",
                "Data valuta",
                "Quantità",
                "Prezzo",
                "Controvalore",
                "Commissioni",
                "Spese fisse",
                "Tobin tax",
                ("Importo netto a vostro debito", "Importo netto a vostro credito"),
                "Numero ordine",
                "Dossier titoli",
                "Tasso di cambio",
                (
                    "Abbiamo acquistato per Vostro conto il {day} n. {units} azioni {name} al prezzo di {price}",
                    "Abbiamo venduto per Vostro conto il {day} n. {units} azioni {name} al prezzo di {price}",
                ),
            ),
            NoteWords(
                "Conferma di esecuzione",
                "Segno",
                ("Sottoscrizione", "Rimborso"),
                "Strumento",
                "ISIN",
                "Data operazione",
                "Data regolamento",
                "Numero quote",
                "Prezzo unitario",
                "Controvalore lordo",
                "Commissioni di negoziazione",
                "Spese amministrative",
                "Imposta",
                ("Totale addebito", "Totale accredito"),
                "Riferimento",
                "Deposito titoli n.",
                "Cambio",
                (
                    "Sottoscrizione del {day} di n. {units} quote {name} al prezzo di {price}",
                    "Rimborso del {day} di n. {units} quote {name} al prezzo di {price}",
                ),
            ),
        ),
        "EUR",
        "€",
        "1.234,5",
        "d/m/Y",
    ),
    NoteCountry(
        "nl",
        (
            NoteWords(
                "Transactienota",
                "Soort transactie",
                ("Aankoop", "Verkoop"),
                "Fonds",
                "ISIN",
                "Transactiedatum",
                "Valutadatum",
                "Aantal",
                "Koers",
                "Effectenwaarde",
                "Provisie",
                "Transactiekosten",
                "Beurstaks",
                ("Te betalen", "Te ontvangen"),
                "Ordernummer",
                "Rekeningnummer",
                "Wisselkoers",
                (
                    "Op {day} hebben wij voor u gekocht: {units} aandelen {name} tegen een koers van {price}",
                    "Op {day} hebben wij voor u verkocht: {units} aandelen {name} tegen een koers van {price}",
                ),
            ),
            NoteWords(
                "Borderel",
                "Verrichting",
                ("Inschrijving", "Verkoop"),
                "Waardepapier",
                "ISIN-code",
                "Uitvoeringsdatum",
                "Afwikkelingsdatum",
                "Hoeveelheid",
                "Uitvoeringskoers",
                "Brutobedrag",
                "Makelaarsloon",
                "Kosten beurs",
                "TOB",
                ("Totaal te uwen laste", "Totaal te uwen gunste"),
                "Referentie",
                "Effectenrekening",
                "Koers deviezen",
                (
                    "Op {day} gekocht: {units} stuks {name} aan {price}",
                    "Op {day} verkocht: {units} stuks {name} aan {price}",
                ),
            ),
        ),
        "EUR",
        "€",
        "1.234,5",
        "d-m-Y",
    ),
    NoteCountry(
        "pt",
        (
            NoteWords(
                "Nota de execução",
                "Operação",
                ("Compra", "Venda"),
                "Título",
                "ISIN",
                "Data da operação",
                "Data valor",
                "Quantidade",
                "Preço",
                "Valor bruto",
                "Comissão",
                "Taxa de bolsa",
                "Imposto de selo",
                ("Valor líquido a debitar", "Valor líquido a creditar"),
                "Número da ordem",
                "Conta de títulos",
                "Câmbio",
                (
                    "Comprámos por sua conta em {day} {units} ações {name} ao preço de {price}",
                    "Vendemos por sua conta em {day} {units} ações {name} ao preço de {price}",
                ),
            ),
            NoteWords(
                "Nota de lançamento de títulos",
                "Natureza da operação",
                ("Subscrição", "Resgate"),
                "Ativo",
                "Código ISIN",
                "Data de execução",
                "Data de liquidação",
                "Unidades de participação",
                "Preço unitário",
                "Montante da transação",
                "Corretagem",
                "Despesas",
                "Imposto",
                ("Total a débito", "Total a crédito"),
                "Referência",
                "N.º de conta",
                "Taxa de câmbio",
                (
                    "Subscrição em {day} de {units} unidades de participação {name} ao preço de {price}",
                    "Resgate em {day} de {units} unidades de participação {name} ao preço de {price}",
                ),
            ),
        ),
        "EUR",
        "€",
        "1.234,5",
        "d-m-Y",
    ),
)
