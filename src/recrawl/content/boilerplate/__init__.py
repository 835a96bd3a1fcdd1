"""What pages of a site have in common."""
