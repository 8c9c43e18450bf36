"""The chain of seals over the ledger: made, kept and verified."""
