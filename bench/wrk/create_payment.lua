-- Creates payments, each with a reference of its own. Arguments: the secret key.
local thread_number = 0

function setup(thread)
  thread_number = thread_number + 1
  thread:set("number", thread_number)
end

function init(args)
  sent = 0
  run = string.format("%x", os.time()) .. tostring({}):sub(-6) .. number
  headers = { ["X-API-Key"] = args[1], ["Content-Type"] = "application/json" }
end

function request()
  sent = sent + 1
  local body = string.format(
    '{"reference":"%s-%d","amount":12500,"title":"Two coffees","terminal_label":"Till %d"}',
    run, sent, sent % 10)
  return wrk.format("POST", nil, headers, body)
end
