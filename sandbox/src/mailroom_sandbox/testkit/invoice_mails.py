"""Small invoices as mails, each another one: for benchmarks that read as many as they like."""

from email.message import EmailMessage
from io import BytesIO
from uuid import uuid4

from reportlab.pdfgen.canvas import Canvas


def build_invoice_mail(number: int) -> bytes:
    """RFC 5322 bytes of a mail with one PDF, whose invoice number is `number`."""
    page = BytesIO()
    canvas = Canvas(page)
    lines = ("Acme Supplies Ltd", f"Invoice number: B-{number}", "Invoice date: 2026-11-02", "Total: EUR 119.00")
    for row, line in enumerate(lines):
        canvas.drawString(72, 760 - 20 * row, line)
    canvas.save()
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"] = "billing@acme.example", "ap@contoso.example", f"Invoice B-{number}"
    mail["Message-ID"] = f"<{uuid4()}@acme.example>"
    mail.set_content("Please find the invoice attached.")
    mail.add_attachment(page.getvalue(), maintype="application", subtype="pdf", filename=f"invoice-{number}.pdf")
    return mail.as_bytes()
