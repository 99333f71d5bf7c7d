"""Runs docker-compose.yml, and kills its containers while mail flows."""
