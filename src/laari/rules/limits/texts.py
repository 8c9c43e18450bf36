"""How long the texts are that people write."""

MAX_REASON = 255  # characters: a sentence, on one line of the journal
MAX_CUSTOMER_NOTE = 2_000  # characters: a note of an operator about a customer
MAX_DECISION = 500  # characters: why an application is approved or refused; the shop reads it
MAX_NOTE = 500  # characters: of a refund, a till's closing or a signed day

MAX_CASE = 500  # characters: what a customer says about a line, and the answer
OPEN_CASES = 5  # of one customer
