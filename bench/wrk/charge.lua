function request()
  local body = string.format(
    '{"reference":"%s","amount":12500,"title":"Two coffees"}', new_reference())
  return wrk.format("POST", "/merchant/authorizations/" .. authorization() .. "/charge", headers, body)
end
