-- LNbits: creates an invoice.
function request()
  local sent_headers = { ["X-Api-Key"] = key, ["Content-Type"] = "application/json" }
  return wrk.format("POST", "/api/v1/payments", sent_headers,
    '{"out":false,"amount":125,"memo":"' .. new_reference() .. '"}')
end
