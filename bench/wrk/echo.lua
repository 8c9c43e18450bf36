-- The bare route gets what a create sends.
function request()
  local body = string.format(
    '{"reference":"%s","amount":12500,"title":"Two coffees","terminal_label":"Till %d"}',
    new_reference(), sent % 10)
  return wrk.format("POST", "/echo", headers, body)
end
