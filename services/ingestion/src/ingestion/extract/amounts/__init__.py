"""What an invoice comes to: net, tax, gross and what is left to pay, its currency and its positions.

`totals` has the entry point: candidates by their labels, believed when they add up and no other total rivals them.
"""
