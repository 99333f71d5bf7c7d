"""Google OAuth 2.0, the Gmail API and Pub/Sub push."""
