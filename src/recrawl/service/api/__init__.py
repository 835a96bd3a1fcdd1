"""The HTTP API: one router per thing; a handler calls one method of the service."""
