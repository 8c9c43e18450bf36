-- QR images of payments that are pending: every tenth of the last half day's. They can be paid for a
-- day, and a run may come hours after they were made.
function request()
  local half_day = math.floor(43200000 / step_ms / 10)
  local n = (math.floor(payments / 10) - 1 - math.random(0, half_day)) * 10 + 6
  return wrk.format("GET", string.format("/merchant/public/qr/bench-%016d", n))
end
