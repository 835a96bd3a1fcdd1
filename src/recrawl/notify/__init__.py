"""Tell others about changes: webhooks, and a command."""
