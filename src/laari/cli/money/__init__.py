"""Commands about money: wallets, balances, payouts, the bank, statements."""
