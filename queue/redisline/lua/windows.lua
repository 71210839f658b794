-- windows.lua: what the detector measures of an item, for the scripts that need it; it stands between prelude.lua and them.

-- A sliding window kept as sub-buckets, in a hash: number of a sub-bucket -> count; s = the sum of those numbered above o;
-- b = length of a sub-bucket, w = of the window, ms. Sub-bucket k holds what came in ((k-1)b, kb]; the oldest one counts pro rata.
local function bucket_ms(window) return max(100, window / 1000) end

-- Lays the sub-buckets anew after the length of the window has changed theirs.
local function relay_window(key, b)
  local f, sums, total = call('HGETALL', key), {}, 0
  local old = b
  for i = 1, #f, 2 do
    if f[i] == 'b' then old = tonumber(f[i + 1]) end
  end
  for i = 1, #f, 2 do
    local k, n = tonumber(f[i]), tonumber(f[i + 1])
    if k then
      local at = math.ceil(k * old / b)
      sums[at], total = (sums[at] or 0) + n, total + n
    end
  end
  local ttl, window = call('PTTL', key), call('HGET', key, 'w')
  call('DEL', key)
  for k, n in pairs(sums) do call('HSET', key, k, n) end
  call('HSET', key, 'b', b, 's', total, 'o', 0, 'w', window or 0)
  if ttl > 0 then call('PEXPIRE', key, ttl) end
end

-- The length of the window that a hash of sub-buckets is kept for, ms.
local function window_of(key)
  local w = tonumber(call('HGET', key, 'w') or 0)
  return w > 0 and w or 10000
end

-- Lets what is older than the window go, and answers the count in (now - window, now]. Costs what has left.
local function window_sum(key, now_ms, window)
  local b = bucket_ms(window)
  local f = call('HMGET', key, 's', 'o', 'b')
  if not f[1] then return 0 end
  if f[3] and tonumber(f[3]) ~= b then
    relay_window(key, b)
    f = call('HMGET', key, 's', 'o', 'b')
  end
  local sum, o, from = tonumber(f[1]), tonumber(f[2] or 0), now_ms - window
  local edge = max(floor(from / b), o)
  if edge > o then
    local gone = {}
    if edge - o > 1100 then -- nothing is known of where it starts: look at what there is
      for _, name in ipairs(call('HKEYS', key)) do
        local k = tonumber(name)
        if k and k <= edge then gone[#gone + 1] = name end
      end
    else
      for k = o + 1, edge do gone[#gone + 1] = k end
    end
    if #gone > 0 then
      for _, n in ipairs(call('HMGET', key, unpack(gone))) do sum = sum - (tonumber(n) or 0) end
      call('HDEL', key, unpack(gone))
    end
    call('HSET', key, 's', sum, 'o', edge, 'b', b)
  end
  local oldest = tonumber(call('HGET', key, edge + 1) or 0)
  return sum - oldest + oldest * min(1, max(0, ((edge + 1) * b - from) / b))
end

-- What the detector measures of an item at this moment: requests in the window, newcomers a minute, active users.
local function measures(q, now_ms)
  local requests = window_sum(K.traffic, now_ms, q.trig_window > 0 and q.trig_window or window_of(K.traffic))
  local newcomers, active = 0, 0
  if q.trig_new > 0 then newcomers = window_sum(K.newcomers, now_ms, 60000) end
  if q.trig_active > 0 then
    local last = call('HMGET', K.active, 'n', 'at')
    -- A session after the last check nobody is active, whatever was counted then.
    if last[1] and now_ms - tonumber(last[2]) < q.session then active = tonumber(last[1]) end
  end
  return requests, newcomers, active
end

local function traffic_low(q, requests, newcomers, active)
  return requests < q.trig_requests * q.ratio
    and (q.trig_new == 0 or newcomers < q.trig_new * q.ratio)
    and (q.trig_active == 0 or active < q.trig_active * q.ratio)
end
