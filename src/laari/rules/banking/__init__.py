"""Money in and out: payouts, withdrawals, bank files and lines, the operator's movements."""
