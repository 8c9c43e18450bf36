-- Create a payment by one call of the server's function (functions.sql).
\set sent :sent + 1
\set n :client_id * 1000000000 + :sent
\set till random(0, 9)
SELECT bench.create_payment(:digest, :run || '-' || :n::bigint, 'Till ' || :till::bigint, :event);
