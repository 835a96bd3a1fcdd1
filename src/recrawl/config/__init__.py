"""Settings: where they come from, per site, with secrets and credentials."""
