"""What the services stand on, on one machine: Apache Kafka, Postgres, a certificate authority, kept state."""
