"""`make run`: connect two mailboxes as a person would, deliver mails, and watch them become documents."""
