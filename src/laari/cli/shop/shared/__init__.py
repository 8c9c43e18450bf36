"""`listen` and `trigger`: one implementation for `laari` and for `laari-client`.

`clients/python/src/laari_client/cli/_shared` is a link to this folder, and both wheels contain its
files. So the code runs on Python 3.9 and imports the standard library and itself, nothing else. It
reaches the service, the receiver and the terminal through `ports`.
"""
