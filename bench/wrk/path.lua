-- One address again and again: the extra argument.
function request()
  return wrk.format("GET", extra, headers)
end
