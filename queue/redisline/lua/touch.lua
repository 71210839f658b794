-- touch.lua: signs of life of many visitors of one item: heartbeats of waiting ones, renewals of those inside.
-- KEYS[1..11]  the keys of the line, see prelude.lua
-- ARGV[1]  now_us   '' = the store's clock; else a virtual one (tests)
-- ARGV[2..]  six to a beat: kind (h, r), visitor, generation, issued_ms, ends_ms of the pass, requests (r)
-- Returns  {header, now_ms, beats (1-based) whose place is missing, those whose pass has ended as beat, until_ms, …}
-- Cost     O(n log N): n beats (at most 200), N the size of running; the number of calls to commands does not grow with n, but for
--          those who leave the line
-- Why one script: who is carried into running must leave the line in the same step.

local now_us = clock(ARGV[1])
local now_ms = floor(now_us / 1000)
local q = load()
local missing, ended = {}, {}

local PER, FIRST = 6, 2
local n = (#ARGV - FIRST + 1) / PER
if q.state == 'off' then return { header(q), now_ms, missing, ended } end

local visitors, renewing = {}, {}
for i = 1, n do
  local at = FIRST + (i - 1) * PER
  visitors[i] = ARGV[at + 1]
  if ARGV[at] == 'r' then renewing[#renewing + 1] = visitors[i] end
end
local in_waiting, heard = {}, {}
for i, score in ipairs(call('ZMSCORE', K.waiting, unpack(visitors))) do in_waiting[visitors[i]] = tonumber(score) or nil end
local live_s = int(floor(live(q, now_ms) / 1000))

-- Of those inside: until when, and the stay as it is written. What the batch changes is noted here first, so that a visitor who
-- stands in it twice is seen, and is written by one call for all.
local inside, stays, renewed = {}, {}, {}
local marks = marks_of(renewing)
if #renewing > 0 then
  for i, ends in ipairs(call('ZMSCORE', K.running, unpack(renewing))) do inside[renewing[i]] = tonumber(ends) or nil end
  for i, stay in ipairs(call('HMGET', K.admissions, unpack(renewing))) do stays[renewing[i]] = stay or nil end
end

local function keep(visitor, stay, until_ms)
  stays[visitor], inside[visitor], renewed[visitor] = write_stay(stay), until_ms, true
end

local function renew(i, visitor, generation, issued, ends, requests)
  local ended_at = marks.instants[visitor]
  if generation < q.from or ended_at >= issued then
    if ended_at >= issued and not inside[visitor] then
      -- A node that had not heard of the end may have renewed this pass: that one ends too.
      marks.add(visitor, -1, now_ms)
      ended_at = max(ended_at, now_ms)
    end
    ended[#ended + 1] = i
    ended[#ended + 1] = max(issued, ended_at)
    return
  end
  local until_ms = ends + LEEWAY - lost(q, now_ms)
  if inside[visitor] then
    local stay = read_stay(stays[visitor])
    if not stay then -- the store has lost it: the pass tells
      stay = { kind = 'c', admitted = now_ms, claimed = issued, issued = issued, ends = 0, requests = 0 }
    end
    stay.requests = stay.requests + requests
    local stays_until = inside[visitor]
    if stay.claimed == 0 then
      stay.claimed, stay.issued, stay.ends, stays_until = issued, issued, ends, until_ms
      marks.add(visitor, q.last, -1)
    else
      stay.issued = max(stay.issued, issued)
      if ends > stay.ends then stay.ends, stays_until = ends, max(stays_until, until_ms) end
    end
    keep(visitor, stay, stays_until)
  elseif ends + LEEWAY > now_ms then
    keep(visitor, { kind = 'c', admitted = now_ms, claimed = issued, issued = issued, ends = ends, requests = requests }, until_ms)
    add(q, 'nr', 1)
    add(q, 'carried', 1)
    show_up(q)
    local score = in_waiting[visitor]
    if score then
      marks.add(visitor, score, -1)
      in_waiting[visitor], heard[visitor] = nil, nil
      call('ZREM', K.waiting, visitor)
      call('HDEL', K.heard, visitor)
      add(q, 'nw', -1)
      add(q, 'left', 1)
    end
  end
end

for i = 1, n do
  local at = FIRST + (i - 1) * PER
  if ARGV[at] == 'h' then
    if in_waiting[visitors[i]] then
      heard[visitors[i]] = live_s
    else
      missing[#missing + 1] = i
    end
  else
    renew(i, visitors[i], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4]),
      tonumber(ARGV[at + 5]))
  end
end
local seconds = {}
for visitor, second in pairs(heard) do
  seconds[#seconds + 1] = visitor
  seconds[#seconds + 1] = second
end
if #seconds > 0 then call('HSET', K.heard, unpack(seconds)) end
local running, admissions = {}, {}
for visitor in pairs(renewed) do
  running[#running + 1], running[#running + 2] = inside[visitor], visitor
  admissions[#admissions + 1], admissions[#admissions + 2] = visitor, stays[visitor]
end
if #running > 0 then
  call('ZADD', K.running, unpack(running))
  call('HSET', K.admissions, unpack(admissions))
end
marks.save()
save(q)
return { header(q), now_ms, missing, ended }
