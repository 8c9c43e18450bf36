function request()
  local reference = new_reference()
  headers["Idempotency-Key"] = reference
  local body = string.format(
    '{"reference":"%s","amount":12500,"title":"Two coffees","terminal_label":"Till %d"}',
    reference, sent % 10)
  return wrk.format("POST", "/merchant/payments", headers, body)
end
