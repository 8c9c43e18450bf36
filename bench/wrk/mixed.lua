-- A day of a shop: seven in ten requests read.
function request()
  local kind = math.random(1, 20)
  if kind <= 8 then
    return wrk.format("GET", "/merchant/payments/" .. paid_payment(), headers)
  elseif kind <= 11 then
    return wrk.format("GET", "/merchant/payments", headers)
  elseif kind <= 14 then
    return wrk.format("GET", "/merchant/payments?status=paid&limit=20", headers)
  elseif kind <= 17 then
    local body = string.format(
      '{"reference":"%s","amount":12500,"title":"Two coffees"}', new_reference())
    return wrk.format("POST", "/merchant/payments", headers, body)
  end
  local body = string.format('{"reference":"%s","amount":12500}', new_reference())
  return wrk.format("POST", "/merchant/authorizations/" .. authorization() .. "/charge", headers, body)
end
