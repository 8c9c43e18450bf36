"""Pure decisions: no clock, no SQL, no HTTP, no await. Read the modules in this order:

1. `records`: the rows that the rules decide over.
2. `tables`, `world` and `needs`: how a batch names its rows, and the state it decides over.
3. `command` and `refusals`: a command names its needs, then returns a resource or a refusal.
4. `lifecycle`: the states of payments, payment requests and authorizations.
5. `wallets`, `periods` and `ledger`: limits, the periods they apply to, and movements of money.
6. `payment_commands`, `payments` and `payment_requests`: a merchant asks, a customer pays.
7. `authorizations`, `limits` and `charges`: permission to charge, and its use.
8. `events`, `webhooks` and `shapes`: notifications, and resources as JSON.
9. `journal` and `people`: changes of settings with their entries, such as a new contact.
10. `idempotency` and `tokens`; `operator` and `sandbox_clock`: commands from outside the APIs.
"""
