"""What providers delivered, held against what Mailroom recorded and filed: for the tests of a whole site."""
