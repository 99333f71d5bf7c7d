"""What at least two Mailroom services share, in modules named by purpose."""
