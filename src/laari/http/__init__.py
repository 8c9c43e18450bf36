"""The HTTP/1.1 server: strict, bounded, and independent of the interfaces."""
