"""The proof that the books are right: recomputed from the ledger, and held against its seals."""

from laari.store.audit.difference import Difference
from laari.store.audit.report import CHECKS, SHOWN, Report, audit

__all__ = ["CHECKS", "SHOWN", "Difference", "Report", "audit"]
