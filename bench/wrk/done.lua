-- What a run found, as one line of JSON that bench/load.py reads.
function done(summary, latency, requests)
  io.write(string.format(
    '\n{"requests":%d,"seconds":%.6f,"failed":%d,"p50_ms":%.3f,"p99_ms":%.3f}\n',
    summary.requests, summary.duration / 1e6,
    summary.errors.status + summary.errors.connect + summary.errors.read
      + summary.errors.write + summary.errors.timeout,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
