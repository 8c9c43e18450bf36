-- Every wallet in turn: each has a rate window of its own.
function request()
  return wrk.format("GET", "/wallet/balance",
    { ["X-API-Key"] = "wk_bench-" .. math.random(1, customers) })
end
