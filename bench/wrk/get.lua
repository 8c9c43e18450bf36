function request()
  return wrk.format("GET", "/merchant/payments/" .. paid_payment(), headers)
end
