-- A till's payments of one status are one stretch of an index. Without a status they are six.
CREATE INDEX payments_by_label_and_status
    ON payments (tenant_id, terminal_label, status, created_at, id)
    WHERE terminal_label IS NOT NULL;
DROP INDEX payments_by_label;
CREATE INDEX payment_requests_by_label_and_status
    ON payment_requests (tenant_id, terminal_label, status, created_at, id)
    WHERE terminal_label IS NOT NULL;
DROP INDEX payment_requests_by_label;
