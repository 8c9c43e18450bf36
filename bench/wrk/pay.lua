-- Creates a payment request, then pays it: two requests each. The extra argument is the key of a
-- merchant in sandbox mode, whose sandbox customer pays.
local made, first = {}, 1

function request()
  headers["X-API-Key"] = extra
  local id = made[first]
  if id then
    made[first], first = nil, first + 1
    return wrk.format("POST", "/merchant/sandbox/payment-requests/" .. id .. "/pay", headers)
  end
  local body = string.format(
    '{"reference":"%s","amount":100,"customer":{"type":"vpa","value":"sandbox"}}', new_reference())
  return wrk.format("POST", "/merchant/payment-requests", headers, body)
end

local last = 0
function response(status, _, body)
  local id = body:match('"id":"(prq_%x+)"')
  if status == 201 and id then
    last = last + 1
    made[last] = id
  end
end
