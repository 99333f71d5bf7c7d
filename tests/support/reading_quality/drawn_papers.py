"""Papers as common invoicing programs print them, of our own making: what the families have not.

Tax that is withheld, advances, carriage, rounding, two currencies, tax numbers without their country, tables with
several columns of amounts; and what suppliers send that is no invoice. Rules were made on all of them. All names,
numbers and accounts are made up, with check digits that are right.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class DrawnPaper:
    """`truth` None: no invoice. `lines` there are the amounts of the positions alone."""

    name: str
    text: str
    truth: Mapping[str, Any] | None = None


def _expect(supplier_name: str, number: str, issued: str, currency: str, *totals: str, **others: Any) -> dict[str, Any]:
    named = dict(zip(("total_net", "total_tax", "total_gross", "amount_due"), totals, strict=False))
    lines = [{"amount": amount} for amount in others.pop("lines", ())]
    known = {"supplier_name": supplier_name, "invoice_number": number, "issue_date": issued, "currency": currency}
    return {**known, **named, **others, "lines": lines}


INVOICES = (
    DrawnPaper(
        "de-a-form-with-number-and-date",
        """
Rheinische Pumpentechnik GmbH
Firma                                        Rechnung
Anlagenbau Süd AG                            Nummer/Datum
80939 München                                90012345 / 14.03.2026
                                             Auftragsnummer/Datum
                                             4500781 / 02.03.2026

Pos.      Material/Bezeichnung    Menge    Preis     pro     Nettowert EUR
000010    P-20050                 4 ST     310,00    1 ST         1.240,00
          Kreiselpumpe KSP 50
          Rabatt                           10,00- %                 124,00-
          Nettowert für Position                                  1.116,00
000020    D-1188                  20 ST    6,20      1 ST           124,00
          Dichtungssatz NBR
Summe Positionen                                                  1.240,00
Mehrwertsteuer                    19,00 %                           235,60
Endbetrag                                                         1.475,60
Zahlungsbedingungen: bis zum 28.03.2026 2,00 % Skonto, bis zum 13.04.2026 ohne Abzug

Rheinische Pumpentechnik GmbH     Steuer-Nr. 214/5801/0312     USt-IdNr. DE224538323
""",
        _expect(
            "Rheinische Pumpentechnik GmbH",
            "90012345",
            "2026-03-14",
            "EUR",
            *("1240.00", "235.60", "1475.60"),
            due_date="2026-04-13",
            vat_id="DE224538323",
            lines=("1116.00", "124.00"),
        ),
    ),
    DrawnPaper(
        "de-a-final-invoice",
        """
Nordbau Zimmerei KG

Eheleute Petersen                            Datum     30.04.2026

Schlussrechnung SR-2026/031
Pos.    Leistung                             Menge           Betrag EUR
1       Abbund und Aufrichten Dachstuhl      1 psch           14.800,00
2       Dachlattung                          210 m²            5.200,00
Nettosumme                                                    20.000,00
19 % MwSt.                                                     3.800,00
Gesamtsumme brutto                                            23.800,00
Abzüglich erhaltener Abschlagszahlungen:
1. Abschlag vom 16.01.2026        5.000,00      950,00        -5.950,00
2. Abschlag vom 02.03.2026        8.000,00    1.520,00        -9.520,00
Restbetrag brutto (noch zu zahlen)                             8.330,00
Im Restbetrag enthalten: netto 7.000,00 EUR, MwSt. 1.330,00 EUR.
Bitte überweisen Sie den Restbetrag bis 14.05.2026 auf unser Konto.
USt-IdNr.: DE185089414
""",
        _expect(
            "Nordbau Zimmerei KG",
            "SR-2026/031",
            "2026-04-30",
            "EUR",
            *("20000.00", "3800.00", "23800.00", "8330.00"),
            due_date="2026-05-14",
            vat_id="DE185089414",
            lines=("14800.00", "5200.00"),
        ),
    ),
    DrawnPaper(
        "en-carriage-and-dates-that-only-an-account-orders",
        """
Harrowgate Office Supplies Ltd                              INVOICE
VAT Reg No: GB 934 6419 52

Brackley Solicitors                          Invoice No.          10234
12 Low Street                                Invoice/Tax Date     03/04/2026
Leeds LS2 8AB                                Due Date             03/05/2026

Qty     Details                    Unit Price     Net Amt     VAT %       VAT
5.00    A4 copier paper box             19.99       99.95     20.00     19.99
2.00    Ergonomic task chair           130.50      261.00     20.00     52.20
1.00    Desk atlas (book)               25.00       25.00      0.00      0.00

                                   Total Net Amount                    385.95
                                   Carriage Net                         12.50
                                   Total Tax Amount                     74.69
                                   Invoice Total                     £ 473.14
""",
        _expect(
            "Harrowgate Office Supplies Ltd",
            "10234",
            "2026-04-03",
            "GBP",
            *("398.45", "74.69", "473.14"),
            due_date="2026-05-03",
            vat_id="GB934641952",
            lines=("99.95", "261.00", "25.00"),
        ),
    ),
    DrawnPaper(
        "en-a-letter-head-in-columns-and-a-slip",
        """
TAX INVOICE                   Invoice Date          Southern Roast Coffee
Wattle Creek Cafe             12 Mar 2026           Pty Ltd
PO Box 88                     Invoice Number        3/18 Foundry Road
KATOOMBA NSW 2780             INV-0451              SEVEN HILLS NSW 2147

Description                   Quantity    Unit Price    GST    Amount AUD
Espresso blend 1kg            20.00            32.00    10%        640.00
Delivery                      1.00             15.00    10%         15.00
                                          Subtotal                 655.00
                                          TOTAL GST 10%             65.50
                                          TOTAL AUD                720.50
Due Date: 26 Mar 2026

PAYMENT ADVICE                          Customer           Wattle Creek Cafe
To: Southern Roast Coffee Pty Ltd       Invoice Number     INV-0451
""",
        _expect(
            "Southern Roast Coffee Pty Ltd",
            "INV-0451",
            "2026-03-12",
            "AUD",
            *("655.00", "65.50", "720.50"),
            due_date="2026-03-26",
            lines=("640.00", "15.00"),
        ),
    ),
    DrawnPaper(
        "fr-an-advance",
        """
Menuiserie Lefebvre SARL
SIRET 702 575 911 00014 - N° TVA intracommunautaire : FR42371977356

                                             M. et Mme Caron
Facture d'acompte n° FA-2026-0061
Date : 17/02/2026
Devis n° D-2026-0044 - Montant du devis : 9 600,00 € TTC

Désignation                             Qté     P.U. HT       Montant HT
Acompte de 30 % sur devis D-2026-0044   1       2 400,00 €    2 400,00 €
Total HT                                                      2 400,00 €
TVA 20,00 %                                                     480,00 €
Total TTC                                                     2 880,00 €
""",
        _expect(
            "Menuiserie Lefebvre SARL",
            "FA-2026-0061",
            "2026-02-17",
            "EUR",
            *("2400.00", "480.00", "2880.00"),
            vat_id="FR42371977356",
            lines=("2400.00",),
        ),
    ),
    DrawnPaper(
        "es-tax-withheld",
        """
FACTURA                                      Nº de factura     2026-014
                                             Fecha             31/03/2026
Lucía Ferrer Domènech                        Cliente
Diseño gráfico e ilustración                 Editorial Garbí, S.L.
NIF: 46876707Q                               CIF: B15435852

Concepto                             Unidades     Precio          Importe
Ilustraciones cubierta               4            275,00 €     1.100,00 €
Maquetación interior                 1            400,00 €       400,00 €
Base imponible                                                 1.500,00 €
IVA 21%                                                          315,00 €
Retención IRPF 15%                                              -225,00 €
TOTAL                                                          1.590,00 €
""",
        _expect(
            "Lucía Ferrer Domènech",
            "2026-014",
            "2026-03-31",
            "EUR",
            *("1500.00", "315.00", "1815.00", "1590.00"),
            vat_id="46876707Q",
            lines=("1100.00", "400.00"),
        ),
    ),
    DrawnPaper(
        "it-tax-withheld-beside-a-customer-with-a-number",
        """
Studio Legale Rinaldi
P.IVA 37894770314 - C.F. RNLPLA75D44A944K

                                             Spett.le
                                             Meccanica Torri S.r.l.
                                             P.IVA 58657800338
FATTURA N. 27/2026
Data: 22/05/2026

Onorari                                                     2.500,00
C.P.A. 4%                                                     100,00
Imponibile IVA                                              2.600,00
IVA 22%                                                       572,00
Totale fattura                                            € 3.172,00
Ritenuta d'acconto 20% su € 2.500,00                        - 500,00
Netto a pagare                                            € 2.672,00
""",
        _expect(
            "Studio Legale Rinaldi",
            "27/2026",
            "2026-05-22",
            "EUR",
            *("2600.00", "572.00", "3172.00", "2672.00"),
            vat_id="37894770314",
        ),
    ),
    DrawnPaper(
        "pt-a-form",
        """
FATURA-RECIBO                       N.º FR ATSIRE01/77
PRESTADOR DO SERVIÇO
Nome                Tiago Andrade Mesquita
NIF                 597536180

ADQUIRENTE DO SERVIÇO
Nome                Clínica São Bento, Lda.
NIF                 543893855

Data de emissão     2026-05-31
Valor Base                          1.200,00 €
IVA - taxa normal [23%]               276,00 €
IRS - Retenção na fonte [25%]         300,00 €
Importância recebida                1.176,00 €
""",
        _expect(
            "Tiago Andrade Mesquita",
            "FR ATSIRE01/77",
            "2026-05-31",
            "EUR",
            *("1200.00", "276.00", "1476.00", "1176.00"),
            vat_id="597536180",
        ),
    ),
    DrawnPaper(
        "pl-in-euro-with-the-tax-in-zloty",
        """
FAKTURA nr FV/117/04/2026             Data wystawienia      2026-04-21
                                      Waluta                EUR
Sprzedawca:                           Nabywca:
Stolarnia Bieszczady sp.j.            Holzland Brenner GmbH
NIP 497-869-79-83                     NIP DE580993261
Nr konta: 61 1090 1014 0000 0712 1981 2874

Lp   Nazwa           Ilość     Cena netto   Wartość netto   VAT   VAT kwota   Wartość brutto
1    Blat dębowy     4 szt         320,00        1 280,00   23%      294,40         1 574,40
2    Transport       1 usł         150,00          150,00   23%       34,50           184,50
     RAZEM                                       1 430,00     X      328,90         1 758,90
Do zapłaty: 1 758,90 EUR
Kurs NBP 1 EUR = 4,2615 PLN
Kwota VAT w PLN: 1 401,61
""",
        _expect(
            "Stolarnia Bieszczady sp.j.",
            "FV/117/04/2026",
            "2026-04-21",
            "EUR",
            *("1430.00", "328.90", "1758.90"),
            vat_id="4978697983",
            iban="PL61109010140000071219812874",
            lines=("1280.00", "150.00"),
        ),
    ),
    DrawnPaper(
        "cs-two-columns-with-their-numbers-far-below",
        """
Faktura – daňový doklad 2026-0042

DODAVATEL                             ODBĚRATEL
KOVO Novotný, s.r.o.                  Statek Dubina a.s.
Tovární 15                            Dubina 1

IČO      57706174                     IČO      00826235
DIČ      CZ57706174                   DIČ      CZ00826235

Datum vystavení        5. 3. 2026     Datum splatnosti     19. 3. 2026

                                 DPH      Cena za MJ      Celkem bez DPH
10 h     Úprava šablony          21 %         950,00            9 500,00
1        Správa domény           21 %         500,00              500,00

                                        Základ          DPH
                                 21 %     10 000,00     2 100,00
Celkem k úhradě                                      12 100,00 Kč
""",
        _expect(
            "KOVO Novotný, s.r.o.",
            "2026-0042",
            "2026-03-05",
            "CZK",
            *("10000.00", "2100.00", "12100.00"),
            due_date="2026-03-19",
            vat_id="CZ57706174",
            lines=("9500.00", "500.00"),
        ),
    ),
    DrawnPaper(
        "sv-boxes-and-rounding",
        """
Skärgårdens El & Larm AB                     Faktura
                                             Fakturanr          5087
Brf Sjöstjärnan 3                            Fakturadatum       2026-03-16
                                             Förfallodatum      2026-04-15

Art.nr    Benämning               Lev ant    Enh    À-pris       Summa
100       Arbetstid elektriker    6          tim    720,00    4 320,00
217       Rökdetektor             8          st     389,00    3 112,00
900       Servicebil              1          st     350,55      350,55

Netto         Moms %        Moms kr         Öresavrundning       ATT BETALA
7 782,55      25,00         1 945,64        -0,19                SEK 9 728,00

Skärgårdens El & Larm AB     Bankgiro 5051-6822     Momsreg.nr SE556421625601
""",
        _expect(
            "Skärgårdens El & Larm AB",
            "5087",
            "2026-03-16",
            "SEK",
            *("7782.55", "1945.64", "9728.19", "9728.00"),
            due_date="2026-04-15",
            vat_id="SE556421625601",
            lines=("4320.00", "3112.00", "350.55"),
        ),
    ),
    DrawnPaper(
        "da-crowns-without-a-country",
        """
Sønderby Grafisk A/S                                    KREDITNOTA
CVR 84009512                                            Kreditnotanr.     K-2203
                                                        Dato              02.07.2026
Alsion Event ApS                                        Vedr. faktura     41190

Beskrivelse                        Antal     Enhedspris          Beløb
Fejltrykte plakater A2             -50       18,00             -900,00
Momspligtigt beløb                                             -900,00
Moms 25 %                                                      -225,00
I alt kr.                                                    -1.125,00
""",
        _expect(
            "Sønderby Grafisk A/S",
            "K-2203",
            "2026-07-02",
            "DKK",
            *("-900.00", "-225.00", "-1125.00"),
            vat_id="84009512",
            lines=("-900.00",),
        ),
    ),
)

OTHERS = (
    DrawnPaper(
        "de-reminder",
        """
Stadtwerke Beispielhausen GmbH
Druckerei Falk OHG                        Datum     11.05.2026
2. Mahnung
leider konnten wir noch keinen Zahlungseingang feststellen:
Rechnung        vom            fällig am      Mahnstufe    Betrag EUR
R-26-00311      02.03.2026     16.03.2026     2                412,80
Mahngebühr                                                       5,00
Gesamtbetrag                                                   417,80
""",
    ),
    DrawnPaper(
        "nl-reminder-with-the-totals-of-its-invoice",
        """
Hoveniersbedrijf Groenendaal
Betalingsherinnering
Factuurnummer     F2026-118
Factuurdatum      28 mei 2026
Onderhoud terrein mei                                       € 1.150,00
Btw 21%                                                       € 241,50
Totaal                                                      € 1.391,50
Openstaand bedrag                                           € 1.391,50
""",
    ),
    DrawnPaper(
        "it-pro-forma",
        """
Agriturismo Colle Verde s.s.
FATTURA PROFORMA n. 12/2026
Data 06/06/2026
Imponibile                                                    2.280,00
IVA 10%                                                         228,00
Totale documento                                            € 2.508,00
Il presente documento non costituisce fattura.
""",
    ),
    DrawnPaper(
        "en-statement",
        """
Moorland Feeds Ltd                                            STATEMENT
Hillcrest Farm                          Statement Date     30/06/2026
Date          Type                Reference      Debit        Balance
31/05/2026    Brought forward                                1,120.40
22/06/2026    Invoice             INV 21007      388.25      1,508.65
Total Due                                                   £1,508.65
""",
    ),
    DrawnPaper(
        "en-remittance",
        """
Redbourne Homes Ltd                                 REMITTANCE ADVICE
M. Kowalczyk Plastering                 Payment date     29/05/2026
Invoice no    Invoice date    Our ref         Amount paid
0058          30/04/2026      PI-11820           1,544.00
Total paid                                      £1,544.00
""",
    ),
    DrawnPaper(
        "sv-order",
        """
Norrlands Trä & Bygg AB                              Orderbekräftelse
Västerbottens Stugby AB                 Ordernr     22018
Art.nr    Benämning        Antal    Enh    À-pris       Summa
T45       Regel 45x145     120      m      38,00     4 560,00
Summa exkl. moms                                     4 560,00
Moms 25%                                             1 140,00
Totalt SEK                                           5 700,00
""",
    ),
)
