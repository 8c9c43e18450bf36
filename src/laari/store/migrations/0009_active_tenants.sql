-- Whether the merchant is active, beside the rest that is known of a tenant: pages that are opened
-- with a link, without the merchant's credentials, have to say so.
CREATE OR REPLACE VIEW tenant_details AS
SELECT t.id, t.merchant_id, m.name AS merchant_name, t.mode, m.fee_bps, m.fee_fixed,
       t.clock_offset_seconds, m.sandbox_account, m.active
FROM tenants t
JOIN merchants m ON m.id = t.merchant_id;
