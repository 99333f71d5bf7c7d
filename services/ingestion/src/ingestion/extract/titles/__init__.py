"""What pages are by their titles: an invoice, what gives back, another paper."""
