"""When an invoice was written and until when it is to be paid, and in which order its dates have day and month."""
