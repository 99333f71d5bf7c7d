"""The description of an API as one page, and several services' descriptions as one."""
