-- Charge an authorization by one call of the server's function (functions.sql).
\set sent :sent + 1
\set n :client_id * 1000000000 + :sent
\set a random(1, :authorizations)
SELECT bench.charge(:digest,
    (lpad(to_hex(:first_ms::bigint), 12, '0') || lpad(to_hex(:a::bigint), 20, '0'))::uuid,
    :run || '-' || :n::bigint, :event);
