"""Tables and screens for people, JSON for programs."""
