"""How long the bodies of requests may be, in bytes.

A statement of the bank that is uploaded has `MAX_BYTES` of `laari.rules.banking.bank_statement`.
"""

# Of a request to the APIs. The HTTP server reads no longer body into memory.
MAX_BODY_BYTES = 512 * 1024
MAX_TOKEN_BODY_BYTES = 16 * 1024  # of a request for an access token
MAX_FORM_BYTES = 20 * 1024  # the longest texts of a payment, each character in twelve bytes
MAX_UPLOADED_TEXT = 512 * 1024  # beside a file, in a form that may have one
