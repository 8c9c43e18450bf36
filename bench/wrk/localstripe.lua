-- localstripe: creates a payment intent.
function request()
  local form = { ["Authorization"] = "Basic " .. key,
                 ["Content-Type"] = "application/x-www-form-urlencoded" }
  return wrk.format("POST", "/v1/payment_intents", form,
    "amount=12500&currency=usd&metadata[reference]=" .. new_reference())
end
