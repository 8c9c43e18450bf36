-- Creates and charges in turn: what the part `steady` sends, as fast as it is answered.
function request()
  local reference = new_reference()
  if sent % 2 == 0 then
    local body = string.format(
      '{"reference":"%s","amount":12500,"title":"Two coffees","terminal_label":"Till %d"}',
      reference, sent % 10)
    return wrk.format("POST", "/merchant/payments", headers, body)
  end
  local body = string.format(
    '{"reference":"%s","amount":12500,"title":"Two coffees"}', reference)
  return wrk.format("POST", "/merchant/authorizations/" .. authorization() .. "/charge", headers, body)
end
