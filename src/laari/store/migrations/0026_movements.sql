-- A merchant's movements of some days: payments in the order in which they were paid or refunded.
CREATE INDEX payments_by_paid ON payments (tenant_id, paid_at, id) WHERE paid_at IS NOT NULL;
CREATE INDEX payments_by_refunded ON payments (tenant_id, refunded_at, id)
    WHERE refunded_at IS NOT NULL;
