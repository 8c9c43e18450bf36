-- The paid payments before a moment that hardly any other request names: reading them changes nothing.
function request()
  local ms = first_ms + math.random(1, payments) * step_ms
  local moment = os.date("!%Y-%m-%dT%H:%M:%S", math.floor(ms / 1000)) .. string.format(".%03dZ", ms % 1000)
  return wrk.format("GET", "/merchant/payments?status=paid&created_to=" .. moment, headers)
end
