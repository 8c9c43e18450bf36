-- What every script shares: names of rows that bench/fill.py made, and the run's own references.
-- Arguments: the secret key, a word of this run's own, a number to start from, then the filled
-- sizes: payments, authorizations, customers, the first payment's time and the step, both in ms.
function init(args)
  key, run, sent = args[1], args[2], tonumber(args[3])
  payments, authorizations, customers = tonumber(args[4]), tonumber(args[5]), tonumber(args[6])
  first_ms, step_ms = tonumber(args[7]), tonumber(args[8])
  extra = args[9]
  math.randomseed(os.time() + sent)
  headers = { ["X-API-Key"] = key, ["Content-Type"] = "application/json" }
end

-- Numbers beyond 2^31 in hexadecimal, which LuaJIT's %x does not write.
local function hex12(value)
  return string.format("%06x%06x", math.floor(value / 0x1000000), value % 0x1000000)
end

-- A payment that was paid: reading it changes nothing.
function paid_payment()
  local n = math.random(0, payments / 10 - 1) * 10 + math.random(1, 5)
  return "pay_" .. hex12(first_ms + n * step_ms) .. string.format("%020x", n)
end

function authorization()
  return "auth_" .. hex12(first_ms) .. string.format("%020x", math.random(1, authorizations))
end

function new_reference()
  sent = sent + 1
  return run .. "-" .. sent
end

-- What a run found, as one line of JSON that bench/load.py reads.
function done(summary, latency, requests)
  io.write(string.format(
    '\n{"requests":%d,"seconds":%.6f,"failed":%d,"p50_ms":%.3f,"p99_ms":%.3f}\n',
    summary.requests, summary.duration / 1e6,
    summary.errors.status + summary.errors.connect + summary.errors.read
      + summary.errors.write + summary.errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
