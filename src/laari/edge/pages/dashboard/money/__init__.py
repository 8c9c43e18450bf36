"""The dashboard's pages about money: balance, payouts, statements, tills."""
