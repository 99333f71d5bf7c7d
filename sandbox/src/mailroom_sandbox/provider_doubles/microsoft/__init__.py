"""The Microsoft identity platform and the mail part of Microsoft Graph v1.0."""
