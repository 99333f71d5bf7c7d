"""Readers open what strangers wrote; they run in the parser process only (`mailroom_common.parser`)."""
