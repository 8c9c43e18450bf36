"""The HTTP/1.1 server below the interfaces: strict about what a request is, bounded in everything.

It stands on asyncio and knows nothing of the interfaces: a complete request goes to the
application, and what is no request is refused in words that the application chooses.
"""
