-- count.lua: what one node has counted of one item joins the count of all, and turns the queue on where that trips.
-- KEYS[1..11]   the keys of the line, see queue/redisline/lua/prelude.lua
-- KEYS[12..36]  25 HyperLogLogs of active visitors, each for a 24th of the session, in turn
-- ARGV[1]  now_us          '' = the store's clock; else a virtual one (tests)
-- ARGV[2]  limits          JSON of the policy's numbers
-- ARGV[3]  limits_version  integer
-- ARGV[4]  epoch           of a new epoch, where the queue goes on
-- ARGV[5]  node            who counted
-- ARGV[6]  seq             of the node's sample; one that comes again counts nothing, in whatever order they come
-- ARGV[7]  force           1 = the node's own counts reach a trigger: activate whatever the sum is
-- ARGV[8]  requests        how many pairs of age_ms, count follow
-- ARGV[9]  newcomers       how many pairs follow those
-- ARGV[10..]  the pairs, then the active visitors
-- Returns  {header, activated, requests, newcomers, active}
-- Cost     O(n + expired sub-buckets); where active users count, a union of 25 HyperLogLogs once a second
-- Why one script: of many nodes whose counts trip at once, one activates.

local now_us = clock(ARGV[1])
local now_ms = floor(now_us / 1000)
local node, seq = 'q:' .. ARGV[5], tonumber(ARGV[6])
local n_requests, n_newcomers = tonumber(ARGV[8]), tonumber(ARGV[9])
local q = load()
local limits = cjson.decode(ARGV[2])
take_limits(q, ARGV[2], tonumber(ARGV[3]), now_us)
local trigger = limits.trigger
local SLOTS, FIRST = 25, 12

-- How long, in ms, a window is kept after a count: when it has passed there is nothing in it.
local function keep(window) return math.ceil(min(2 * window, window + 2 * bucket_ms(window) + 1000)) end

-- Adds pairs of age and count to a window's sub-buckets.
local function add_counts(key, window, first, pairs_n)
  if pairs_n == 0 then return end
  local b, added = bucket_ms(window), 0
  local kept = call('HGET', key, 'b')
  if kept and tonumber(kept) ~= b then relay_window(key, b) end
  for i = 0, pairs_n - 1 do
    local age, count = tonumber(ARGV[first + 2 * i]), tonumber(ARGV[first + 2 * i + 1])
    if age < window then
      call('HINCRBY', key, math.ceil((now_ms - age) / b), count)
      added = added + count
    end
  end
  call('HINCRBY', key, 's', added)
  call('HSET', key, 'b', b, 'w', window)
  call('PEXPIRE', key, keep(window))
end

-- Samples may overtake one another: the newest numbers of a node are kept, and one older than all of them has come.
local RECENT = 16
local function seen()
  local numbers = {}
  for n in string.gmatch(call('HGET', K.traffic, node) or '', '%d+') do numbers[#numbers + 1] = tonumber(n) end
  for _, n in ipairs(numbers) do
    if n == seq then return true end
  end
  if #numbers >= RECENT and seq < numbers[1] then return true end
  numbers[#numbers + 1] = seq
  table.sort(numbers)
  if #numbers > RECENT then table.remove(numbers, 1) end
  for i, n in ipairs(numbers) do numbers[i] = int(n) end
  call('HSET', K.traffic, node, table.concat(numbers, ' '))
  return false
end

local repeated = seen()
if not repeated then
  add_counts(K.traffic, trigger.window_ms, 10, n_requests)
  add_counts(K.newcomers, 60000, 10 + 2 * n_requests, n_newcomers)
  if n_requests == 0 then call('PEXPIRE', K.traffic, keep(trigger.window_ms)) end
end

-- Active users: who had a check within the session. K.active holds the last count (n), its instant (at), and under each
-- HyperLogLog's place in the ring the part of time that it stands for.
local function count_active()
  local part = math.ceil(limits.session_ms / (SLOTS - 1))
  local slot = floor(now_ms / part)
  local at = slot % SLOTS
  local first = 10 + 2 * (n_requests + n_newcomers)
  if first <= #ARGV then
    local current = KEYS[FIRST + at]
    if tonumber(call('HGET', K.active, at) or -1) ~= slot then
      call('UNLINK', current)
      call('HSET', K.active, at, slot)
    end
    for from = first, #ARGV, 500 do
      call('PFADD', current, unpack(ARGV, from, min(#ARGV, from + 499)))
    end
    call('PEXPIRE', current, part * SLOTS)
    call('PEXPIRE', K.active, limits.session_ms * 2)
  end
  local known = call('HGETALL', K.active)
  local of, keys = {}, {}
  for i = 1, #known, 2 do of[known[i]] = tonumber(known[i + 1]) end
  if #known == 0 then return 0 end -- and nothing is begun that would not end
  if of.n and now_ms - of.at < 900 and now_ms >= of.at and ARGV[7] ~= '1' then return of.n end
  for i = 0, SLOTS - 1 do
    if of[int(i)] and of[int(i)] > slot - SLOTS then keys[#keys + 1] = KEYS[FIRST + i] end
  end
  local n = #keys > 0 and call('PFCOUNT', unpack(keys)) or 0
  call('HSET', K.active, 'n', n, 'at', now_ms)
  return n
end

local requests = window_sum(K.traffic, now_ms, trigger.window_ms)
local newcomers = trigger.new_visitors_per_minute > 0 and window_sum(K.newcomers, now_ms, 60000) or 0
local active = (trigger.active_users > 0 or limits.max_active > 0) and count_active() or 0

local function tripped()
  if requests >= trigger.requests then return 'trigger_requests', requests, trigger.requests end
  if trigger.new_visitors_per_minute > 0 and newcomers >= trigger.new_visitors_per_minute then
    return 'trigger_new_visitors_per_minute', newcomers, trigger.new_visitors_per_minute
  end
  if trigger.active_users > 0 and active >= trigger.active_users then
    return 'trigger_active_users', active, trigger.active_users
  end
  if ARGV[7] == '1' then return 'trigger_requests', requests, trigger.requests end
end

local activated = 0
if q.state == 'off' and limits.auto then
  if q.disarmed == 1 then
    -- Turned off by hand: armed again once the traffic was low. Until then the store must not forget that.
    if traffic_low(q, requests, newcomers, active) then
      put(q, 'disarmed', 0)
    else
      call('EXPIRE', K.queue, keep_off(q))
    end
  else
    local by, measure, reached = tripped()
    if by then
      turn_on(q, 'open', now_us, tonumber(ARGV[4]), 'detector', by, active)
      put(q, 'trip', measure)
      put(q, 'trip_of', reached)
      activated = 1
    end
  end
end
if q.exists then save(q) end
return { header(q), activated, text(requests), text(newcomers), text(active) }
