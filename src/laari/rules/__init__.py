"""Pure decisions: no clock, no SQL, no HTTP, no await. Read the modules in this order:

1. `records`: the rows that the rules decide over.
2. `tables`, `world` and `needs`: how a batch names its rows, and the state it decides over.
3. `command` and `refusals`: a command names its needs, then returns a resource or a refusal.
4. `lifecycle`: the states of payments, payment requests and authorizations.
5. `wallets`, `periods` and `ledger`: limits, the periods they apply to, and movements of money.
6. `payments`: a merchant asks, a customer pays; refunds; authorizations and charges within them.
7. `events`, `webhooks`, `messages` and `shapes`: notifications, and resources as JSON.
8. `actors` and `journal`: who changes a setting, and the entry of each change.
9. `merchants` and `people`: settings, keys and tills of merchants; customers, roles and log-ins.
10. `banking`: what the operator does with money, payouts and the bank's statement.
11. `limits`: durations and limits of people and access, each with its reason.
12. `idempotency` and `tokens`: a request that is sent twice, and access to the API.
"""
