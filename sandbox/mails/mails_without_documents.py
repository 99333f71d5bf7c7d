"""Mails that hold no document."""

from sandbox.mails.sample_mails import Mails, expect_skipped, with_text
from sandbox.mails.wrappers import (
    CRLF,
    base64_lines,
    multipart,
    named,
    part,
    text_part,
)

_PDF = "application/pdf"


def add_without_documents(mails: Mails) -> None:
    calendar = CRLF.join(
        [
            "BEGIN:VCALENDAR",
            "VERSION:2.0",
            "PRODID:-//northgate.example//EN",
            "METHOD:REQUEST",
            "BEGIN:VEVENT",
            "UID:1@northgate.example",
            "DTSTAMP:20261112T090000Z",
            "DTSTART:20261120T090000Z",
            "SUMMARY:Invoice review",
            "END:VEVENT",
            "END:VCALENDAR",
            "",
        ]
    )
    card = CRLF.join(["BEGIN:VCARD", "VERSION:3.0", "FN:Billing", "EMAIL:billing@northgate.example", "END:VCARD", ""])
    mails.add(
        "invitation",
        "calendar entry and visiting card, an invoice word in the subject",
        "Invitation: invoice review",
        with_text(
            part(
                [
                    "Content-Type: text/calendar; method=REQUEST; charset=utf-8",
                    f"Content-Disposition: {named('invite.ics')}",
                ],
                calendar,
            ),
            part(["Content-Type: text/vcard; charset=utf-8", f"Content-Disposition: {named('billing.vcf')}"], card),
        ),
        [
            expect_skipped("invite.ics", "calendar_or_card", "ics"),
            expect_skipped("billing.vcf", "calendar_or_card", "vcf"),
        ],
    )
    mails.add(
        "partial",
        "first third of a message/partial",
        "Invoice (1/3)",
        'Content-Type: message/partial; id="whole-1@northgate.example"; number=1; total=3'
        + CRLF * 2
        + CRLF.join(
            ["Subject: Invoice", "MIME-Version: 1.0", f"Content-Type: {_PDF}", "Content-Transfer-Encoding: base64"]
        )
        + CRLF * 2
        + base64_lines(mails.documents.english[:900])
        + CRLF,
        [],
    )
    mails.add(
        "no-attachment",
        "a plain question, nothing attached",
        "When will invoice NOS-48213 be paid?",
        text_part(
            "Hello,\n\nthe invoice is open since October. Could you tell us when it will be paid?\n\nBest wishes"
        ),
        [],
    )
    report = part(
        ["Content-Type: message/delivery-status"],
        CRLF.join(
            [
                "Reporting-MTA: dns; mx.mailroom.example",
                "",
                "Final-Recipient: rfc822; nobody@northgate.example",
                "Action: failed",
                "Status: 5.1.1",
                "",
            ]
        ),
    )
    mails.add(
        "bounce",
        "a delivery failure",
        "Undelivered Mail Returned to Sender",
        multipart(
            "report",
            "=_report_1",
            [text_part("Your message could not be delivered.\n"), report],
            "report-type=delivery-status",
        ),
        [],
        "Auto-Submitted: auto-replied",
        sender="Mail Delivery System <mailer-daemon@mx.mailroom.example>",
    )
