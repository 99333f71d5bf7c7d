"""What an ingress is on a site: routes by path to the services, on http for people and https for providers."""
