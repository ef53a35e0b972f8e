-- wrk's script: sends the requests that the file named in REQUESTS returns, each thread from another place in the list,
-- and prints one line of JSON: microseconds for times.
local threads = 0
function setup(thread)
   thread:set("number", threads)
   threads = threads + 1
end

function init(args)
   local list = dofile(os.getenv("REQUESTS"))
   texts = {}
   for i, each in ipairs(list.requests) do
      texts[i] = wrk.format(each[1], each[2], list.headers, each[3])
   end
   at = number * 7919 % #texts
end

function request()
   at = at % #texts + 1
   return texts[at]
end

function done(summary, latency, requests)
   local errors = summary.errors
   print(string.format(
      '{"requests":%d,"duration":%d,"p50":%d,"p99":%d,"refused":%d,"broken":%d}', summary.requests, summary.duration,
      latency:percentile(50), latency:percentile(99), errors.status,
      errors.connect + errors.read + errors.write + errors.timeout))
end
