"""What requests and responses of the API contain."""
