"""What differs without being a change."""
