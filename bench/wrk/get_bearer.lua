-- As get.lua, with the access token that is the extra argument.
function request()
  return wrk.format("GET", "/merchant/payments/" .. paid_payment(), { ["Authorization"] = extra })
end
