-- QR images of the payments of the last day that are pending: every tenth of them.
function request()
  local day = math.floor(86400000 / step_ms / 10) - 2
  local n = (math.floor(payments / 10) - 1 - math.random(0, day)) * 10 + 6
  return wrk.format("GET", string.format("/merchant/public/qr/bench-%016d", n))
end
