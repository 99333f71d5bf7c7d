"""The site: Kafka, Postgres and every Mailroom process on one machine, under a supervisor, behind a reverse proxy."""
