from engine_fixtures import connected_source, engine, gmail, outlook

__all__ = ["connected_source", "engine", "gmail", "outlook"]
