-- An access token for the client whose Basic credentials are the extra argument.
function request()
  return wrk.format("POST", "/merchant/oauth/token",
    { ["Authorization"] = extra, ["Content-Type"] = "application/x-www-form-urlencoded" },
    "grant_type=client_credentials")
end
