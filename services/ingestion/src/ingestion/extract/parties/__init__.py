"""Who writes an invoice: the supplier's name, its tax number and its account, told from the customer's and from those
of third parties.
"""
