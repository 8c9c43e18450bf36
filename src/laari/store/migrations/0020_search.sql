-- The dashboard finds payments by the beginning of a reference or bill number whatever letters are
-- capital, and by the payment reference of the customer's receipt.
CREATE INDEX reference_claims_by_small ON reference_claims (tenant_id, lower(reference));
CREATE INDEX payments_by_small_bill ON payments (tenant_id, lower(bill_number))
    WHERE bill_number IS NOT NULL;
CREATE INDEX payment_requests_by_small_bill ON payment_requests (tenant_id, lower(bill_number))
    WHERE bill_number IS NOT NULL;
CREATE INDEX payments_by_receipt ON payments (tenant_id, payment_reference)
    WHERE payment_reference IS NOT NULL;

-- Where the service is reached, for commands that are not told: links in what they print and announce.
ALTER TABLE installation ADD COLUMN public_url text;
