function request()
  local body = string.format(
    '{"reference":"%s","amount":12500,"title":"Two coffees","terminal_label":"Till %d"}',
    new_reference(), sent % 10)
  return wrk.format("POST", "/merchant/payments", headers, body)
end
