-- Gets one address again and again. Arguments: the secret key.
function init(args)
  wrk.headers["X-API-Key"] = args[1]
end
