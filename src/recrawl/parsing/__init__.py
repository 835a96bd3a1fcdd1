"""Parse untrusted bytes in processes that can be killed, within limits on time and memory."""
