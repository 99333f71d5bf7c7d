"""The test kit: servers, running provider doubles, whole sites and contract checks for the tests of every package."""
